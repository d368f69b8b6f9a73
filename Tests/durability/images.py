"""Makes every disk that a loss of power can leave, from a record of powerloss.c.

Design: the record is read once, forward. At each entry, `Disk` knows what is surely on the disk and
what may be: of each 4096-byte page of a file, each version since the last successful sync of this
file; the same for the length of a file; and the names that were made, removed or changed in a
folder since the last sync of that folder. An image takes one of the versions of each page, or of
each 512-byte sector. Pages that were written before a failed sync stay uncertain until they are
written again and synced: the kernel takes them for clean.
"""

import pathlib
import random
import struct

ENTRY = struct.Struct("=IIQqqQQQq")
MAGIC = 0x504C4F53
PAGE, SECTOR = 4096, 512
(CREATED, OPENED, WRITTEN, TRUNCATED, SYNC_BEGAN, SYNC_ENDED, REMOVED, RENAMED,
 FOLDER_MADE) = range(1, 10)
PATTERNS = ("each", "each", "prefix", "one-old", "one-new", "none", "all")


class Entry:
    __slots__ = ("number", "kind", "file", "offset", "bytes", "time", "reference", "error")

    def __init__(self, number, words, data):
        _, self.kind, self.file, self.offset, _, self.time, _, self.reference, self.error = words
        self.number, self.bytes = number, data

    @property
    def path(self):
        return self.bytes.decode()


def read_record(path):
    """The entries, without one whose writing was cut off by a kill."""
    data, place, entries = pathlib.Path(path).read_bytes(), 0, []
    while place + ENTRY.size <= len(data):
        words = ENTRY.unpack_from(data, place)
        if words[0] != MAGIC:
            raise ValueError(f"{path} is no record at byte {place}")
        end = place + ENTRY.size + (words[4] if words[1] not in (TRUNCATED, ) else 0)
        if end > len(data):
            break
        entries.append(Entry(len(entries), words, data[place + ENTRY.size:end]))
        place = end
    return entries


class Versions:
    """The version surely there, and later ones: (number of the entry, content, is lost?)."""

    __slots__ = ("sure", "newer")

    def __init__(self, sure):
        self.sure, self.newer = sure, []

    def add(self, number, content):
        self.newer.append([number, content, False])

    def sync(self, begin):
        """All before the entry `begin` is there, if the kernel still knew that it was not."""
        before = [each for each in self.newer if each[0] < begin]
        if any(not is_lost for _, _, is_lost in before):
            self.sure = before[-1][1]
            del self.newer[:len(before)]

    def fail(self, begin):
        for each in self.newer:
            each[2] |= each[0] < begin

    @property
    def latest(self):
        return self.newer[-1][1] if self.newer else self.sure

    def before(self, number):
        """The version on an in-order disk that lost everything from an entry on."""
        return next((content for entry, content, _ in reversed(self.newer) if entry < number),
                    self.sure)

    def any(self, choose):
        return choose.choice([self.sure] + [content for _, content, _ in self.newer])


class File:
    def __init__(self):
        self.length, self.pages, self.uncertain = Versions(0), {}, set()

    def write(self, number, offset, data):
        place, end = offset, offset + len(data)
        while place < end:
            index, start = divmod(place, PAGE)
            count = min(PAGE - start, end - place)
            piece = data[place - offset:place - offset + count]
            versions = self._page(index)
            old = versions.latest
            versions.add(number, old[:start] + piece + old[start + count:])
            place += count
        if end > self.length.latest:
            self.length.add(number, end)

    def truncate(self, number, length):
        for index in [each for each in self.pages if (each + 1) * PAGE > length]:
            keep = max(0, length - index * PAGE)
            old = self._page(index).latest
            self._page(index).add(number, old[:keep] + bytes(PAGE - keep))
        self.length.add(number, length)

    def _page(self, index):
        self.uncertain.add(index)
        return self.pages.setdefault(index, Versions(bytes(PAGE)))

    def sync(self, begin, succeeded):
        for versions in [self.length] + [self.pages[each] for each in self.uncertain]:
            (versions.sync if succeeded else versions.fail)(begin)
        self.uncertain = {each for each in self.uncertain if self.pages[each].newer}

    def latest(self):
        return self._content(self.length.latest, {each: versions.latest
                                                  for each, versions in self.pages.items()})

    def image(self, choose, pattern, cut, torn):
        """One of the contents that a loss of power can leave."""
        odd = choose.choice(sorted(self.uncertain)) if self.uncertain else None
        pages = {index: versions.sure for index, versions in self.pages.items()}
        for index in sorted(self.uncertain):
            pages[index] = self._choose(index, index == odd, choose, pattern, cut, torn)
        length = {"each": lambda: self.length.any(choose),
                  "prefix": lambda: self.length.before(cut),
                  "none": lambda: self.length.sure}.get(pattern, lambda: self.length.latest)()
        return self._content(length, pages)

    def _choose(self, index, is_odd, choose, pattern, cut, torn):
        versions = self.pages[index]
        if pattern == "prefix":
            return versions.before(cut)
        if pattern in ("none", "all", "one-old", "one-new") and not is_odd:
            return versions.latest if pattern in ("all", "one-old") else versions.sure
        if pattern == "one-old" and not torn:
            return versions.sure
        if pattern == "one-new" and not torn:
            return versions.latest
        if pattern in ("none", "all"):
            return versions.latest if pattern == "all" else versions.sure
        if torn:
            return b"".join(versions.any(choose)[start:start + SECTOR]
                            for start in range(0, PAGE, SECTOR))
        return versions.any(choose)

    @staticmethod
    def _content(length, pages):
        content = bytearray(length)
        for index, page in pages.items():
            start = index * PAGE
            if start < length:
                content[start:min(start + PAGE, length)] = page[:length - start]
        return bytes(content)


class Disk:
    """The folder as it may be on the disk. `advance` takes entries in their order."""

    def __init__(self, folder):
        self.folder = str(pathlib.Path(folder).resolve())
        self.files, self.folder_paths = {}, {}
        # Names that are surely there: path to number of the file, or None for a folder.
        self.names = {}
        # Changes of names: (number, folder, names removed, names made).
        self.name_changes = []
        self.begins = {}

    def begin(self):
        """Takes the present files as surely there: a record begins with them."""
        for path in pathlib.Path(self.folder).rglob("*"):
            if path.name.endswith("-shm"):
                continue
            number = path.stat().st_ino
            self.names[str(path)] = None if path.is_dir() else number
            if path.is_file():
                self.files[number] = file = File()
                file.write(0, 0, path.read_bytes())
                file.sync(1, True)

    def advance(self, entry):
        if entry.kind in (CREATED, OPENED):
            self._opened(entry)
        elif entry.kind == WRITTEN:
            self.files[entry.file].write(entry.number, entry.offset, entry.bytes)
        elif entry.kind == TRUNCATED:
            self.files[entry.file].truncate(entry.number, entry.offset)
        elif entry.kind == SYNC_ENDED:
            self._synced(entry)
        elif entry.kind == REMOVED:
            self._rename(entry.number, entry.path, None)
        elif entry.kind == RENAMED:
            self._rename(entry.number, *entry.path.split("\n"))
        elif entry.kind == FOLDER_MADE:
            self.folder_paths[entry.file] = entry.path
            self._change(entry.number, entry.path, {}, {entry.path: None})

    def _opened(self, entry):
        path = entry.path
        if entry.kind == CREATED:
            self.files[entry.file] = File()
            self._change(entry.number, path, {}, {path: entry.file})
        elif entry.file not in self.files:
            self.folder_paths[entry.file] = path

    def _change(self, number, path, removed, made):
        self.name_changes.append((number, str(pathlib.Path(path).parent), removed, made))

    def _rename(self, number, old, new):
        file = self.latest_names().get(old)
        self._change(number, old, {old}, {new: file} if new else {})

    def _synced(self, entry):
        if entry.file in self.files:
            self.files[entry.file].sync(entry.reference, entry.error == 0)
        elif entry.error == 0:
            path = self.folder_paths.get(entry.file)
            kept = []
            for change in self.name_changes:
                if change[1] == path and change[0] < entry.reference:
                    self.names = apply(self.names, [change])
                else:
                    kept.append(change)
            self.name_changes = kept

    def latest_names(self):
        return apply(self.names, self.name_changes)

    def latest(self):
        return {path: self.files[file].latest()
                for path, file in self.latest_names().items() if file is not None}

    def differences(self):
        """Files that differ from the record: then a change was not recorded."""
        found = {str(path): path.read_bytes() for path in pathlib.Path(self.folder).rglob("*")
                 if path.is_file() and not path.name.endswith("-shm")}
        expected = self.latest()
        return sorted(path for path in found.keys() | expected.keys()
                      if found.get(path) != expected.get(path))

    def write_image(self, target, choose, torn):
        """Writes a folder that a loss of power now can leave. Returns how it was chosen."""
        pattern = choose.choice(PATTERNS)
        uncertain = [each for file in self.files.values() for versions in
                     [file.length] + [file.pages[index] for index in file.uncertain]
                     for each, _, _ in versions.newer]
        cut = choose.randint(min(uncertain), max(uncertain) + 1) if uncertain else 0
        changes = self.name_changes
        if pattern == "each":
            changes = [each for each in changes if choose.random() < 0.5]
        elif pattern != "all":
            changes = changes[:choose.randint(0, len(changes))]
        pathlib.Path(target).mkdir(parents=True)
        names = apply(self.names, changes)
        for path in sorted(names):
            place = pathlib.Path(target) / pathlib.Path(path).relative_to(self.folder)
            if not place.parent.is_dir():
                continue
            if names[path] is None:
                place.mkdir()
            else:
                place.write_bytes(self.files[names[path]].image(choose, pattern, cut, torn))
        return pattern


def apply(names, changes):
    names = dict(names)
    for _, _, removed, made in changes:
        for path in removed:
            names.pop(path, None)
        names.update(made)
    return names


def choose_points(entries, count, choose, first=0):
    """Numbers of entries before which the power is lost, in order, some of them several times."""
    syncs = [each.number for each in entries if each.kind == SYNC_ENDED]
    names = {each.file: each.path for each in entries if each.kind == CREATED}
    others = [each.number for each in entries
              if each.kind not in (SYNC_BEGAN, SYNC_ENDED) and
              not (each.kind == WRITTEN and names.get(each.file, "").endswith("-wal"))]
    points = []
    for _ in range(count):
        kind = choose.randrange(4)
        if kind == 0 and syncs:
            # Just after a sync, or before its end, or some entries later.
            point = choose.choice(syncs) + choose.choice((0, 1, 2, 3, 5, 8))
        elif kind == 1 and others:
            point = choose.choice(others) + choose.choice((0, 1))
        else:
            point = choose.randrange(len(entries) + 1)
        points.append(min(max(point, first), len(entries)))
    return sorted(points)


def each_image(entries, disk, points, folder, seed):
    """Makes all images in turn. Yields (number, path, time of the loss, how it was chosen)."""
    done = 0
    for number, point in enumerate(points):
        while done < point:
            disk.advance(entries[done])
            done += 1
        choose = random.Random(f"{seed}.{number}")
        path = pathlib.Path(folder) / str(number)
        is_torn = number % 2 == 1
        pattern = disk.write_image(path, choose, is_torn)
        time = entries[point].time if point < len(entries) else 1 << 63
        yield number, path, time, f"{pattern}{', torn' if is_torn else ''} at entry {point}"
    while done < len(entries):
        disk.advance(entries[done])
        done += 1
