"""Reads a profile in pprof's format without a library: gzip, then the wire format of protobuf.

Reads only the fields that `latchkey` writes; any other is an error. The numbers of the fields are
those of profile.proto (github.com/google/pprof).
"""

import collections
import gzip

Sample = collections.namedtuple("Sample", "stack count delay labels")
Profile = collections.namedtuple("Profile", "types samples period seconds comments")


def read(file):
    """The profile in the bytes of a file."""
    message = fields(gzip.decompress(file))
    strings = [text.decode() for text in message[6]]
    if strings[0] != "":
        raise ValueError("the first string is not empty")
    functions = {one(each, 1): strings[one(each, 2)] for each in map(fields, message[5])}
    mappings = {one(each, 1) for each in map(fields, message[3])}
    stacks = {}
    for location in map(fields, message[4]):
        if one(location, 2) not in mappings | {0}:
            raise ValueError("a location is in a mapping that is not there")
        lines = [functions[one(fields(line), 1)] for line in location[4]]
        stacks[one(location, 1)] = lines[0] if lines else hex(one(location, 3))
    samples = []
    for sample in map(fields, message[2]):
        count, delay = packed(sample[2][0])
        labels = {strings[one(each, 1)]: strings[one(each, 2)] for each in map(fields, sample[3])}
        stack = [stacks[number] for number in packed(sample[1][0])]
        samples.append(Sample(stack, count, delay, labels))
    types = [(strings[one(each, 1)], strings[one(each, 2)]) for each in map(fields, message[1])]
    comments = [strings[number] for each in message[13] for number in packed(each)]
    return Profile(types, samples, one(message, 12), one(message, 10) / 1e9, comments)


def fields(data):
    """The values of each field: numbers, or the bytes of strings and messages."""
    found, place = collections.defaultdict(list), 0
    while place < len(data):
        tag, place = varint(data, place)
        value, place = varint(data, place)
        if tag & 7 == 2:
            value, place = data[place:place + value], place + value
            if place > len(data):
                raise ValueError("a field ends after its message")
        elif tag & 7 != 0:
            raise ValueError(f"wire type {tag & 7}")
        found[tag >> 3].append(value)
    return found


def one(message, field):
    return message[field][-1] if message[field] else 0


def packed(data):
    numbers, place = [], 0
    while place < len(data):
        number, place = varint(data, place)
        numbers.append(number)
    return numbers


def varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
