import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Entries of the log, and positions in it.
struct LogEntryTests {
    /// The head of an entry of a writer whose time is 1.
    static func head(
        _ rules: RuleLevel = .first,
        raises: Bool = false,
        time: Int64 = 1
    ) -> LogEntry.Head {
        LogEntry.Head(
            rules: rules,
            raisesRules: raises,
            writer: 77,
            sequence: 1,
            time: Timestamp(milliseconds: time),
            asksForMark: false,
            earlier: nil
        )
    }

    static func entry(
        _ changes: [Change],
        mark: LogEntry.Mark? = nil,
        identity: RequestIdentity? = nil
    ) -> [UInt8] {
        var writer = LogEntryWriter()
        for change in changes {
            writer.add(
                LogEntryWriter.encoded(change, author: Array("me".utf8), identity: identity)
            )
        }
        return writer.bytes(
            LogEntry.Head(
                writer: 0x0102_0304_0506_0708,
                sequence: 300,
                time: Timestamp(milliseconds: 1_700_000_000_000),
                asksForMark: mark != nil,
                earlier: mark
            )
        )
    }

    /// An entry of a writer that has no limit on times.
    static func entry(_ changes: [[UInt8]], time: Int64 = 1) -> [UInt8] {
        var entry = BinaryWriter()
        entry.bytes = [1] + [UInt8](repeating: 7, count: 8) + [1]
        entry.add(UInt64(time))
        entry.bytes += [UInt8](repeating: 0, count: 3 + 8)
        entry.add(UInt64(changes.count))
        for change in changes { entry.bytes += change }
        return entry.bytes
    }

    @Test func `an entry comes back as it was`() throws {
        let mark = LogEntry.Mark(place: LogPlace(9), revision: 8, hash: .max)
        let changes = [ReplicaTests.put("1"), ReplicaTests.put("2")]
        let entry = try LogEntry(decoding: Self.entry(changes, mark: mark))
        let head = entry.head
        #expect(head.writer == 0x0102_0304_0506_0708 && head.sequence == 300)
        #expect(head.time.milliseconds == 1_700_000_000_000)
        #expect(head.asksForMark && head.earlier == mark)
        #expect(head.rules == .first && !head.raisesRules)
        #expect(entry.proposals.map { $0.change.encoded() } == changes.map { $0.encoded() })
        #expect(entry.proposals.allSatisfy { $0.author == Array("me".utf8) })
        #expect(entry.proposals.allSatisfy { $0.identity == nil })
        #expect(try LogEntry(decoding: Self.entry([])).head.earlier == nil)
        let identity = RequestIdentity(key: [0, 7], fingerprint: [1, 2, 3])
        let keyed = try LogEntry(decoding: Self.entry(changes, identity: identity))
        #expect(keyed.proposals.map(\.identity) == [identity, identity])
        #expect(keyed.proposals.map { $0.change.encoded() } == changes.map { $0.encoded() })
    }

    @Test func `damage is found, and a later version is told from it`() throws {
        let bytes = Self.entry(
            [ReplicaTests.put("1")],
            identity: RequestIdentity(key: [7], fingerprint: [8])
        )
        for count in 0..<bytes.count {
            #expect(throws: LogEntry.Failure.damaged) {
                try LogEntry(decoding: Array(bytes[..<count]))
            }
        }
        #expect(throws: LogEntry.Failure.damaged) { try LogEntry(decoding: bytes + [0]) }
        #expect(throws: LogEntry.Failure.format(3)) {
            try LogEntry(decoding: [3] + bytes.dropFirst())
        }
        #expect(throws: LogEntry.Failure.format(2)) {
            try LogEntry(decoding: [2] + bytes.dropFirst(), known: .first)
        }
        var random = SeededGenerator(5)
        for _ in 0..<2000 {
            var broken = bytes
            broken[Int.random(in: 1..<bytes.count, using: &random)] ^=
                1
                << UInt8.random(in: 0..<8, using: &random)
            // It is read as another entry or as none, but never further than its end.
            _ = try? LogEntry(decoding: broken)
        }
    }

    /// No replica writes them; but a sum with them would end each replica, at each start.
    @Test func `times and times to live that are too long are damage`() throws {
        func entry(time: Int64) -> [UInt8] {
            LogEntryWriter().bytes(Self.head(time: time))
        }
        for time in [LogEntry.millisecondsMax, LogEntry.millisecondsMax + 1, .max] {
            // Whatever the writer's clock shows.
            let entry = try LogEntry(decoding: entry(time: time))
            #expect(entry.head.time.milliseconds == LogEntry.millisecondsMax)
        }
        for time in [LogEntry.millisecondsMax + 1, 9_223_372_036_855, 253_402_300_799_999, .max] {
            #expect(throws: LogEntry.Failure.damaged) {
                try LogEntry(decoding: Self.entry([], time: time))
            }
        }
        for (ttl, isRight) in [(315_360_000_000, true), (315_360_000_001, false)] {
            let change = Change.increment(ReplicaTests.name("a"), by: 1, ttl: TimeToLive(ttl))
            let bytes = Self.entry([change])
            if isRight {
                #expect(throws: Never.self) { try LogEntry(decoding: bytes) }
            } else {
                #expect(throws: LogEntry.Failure.damaged) { try LogEntry(decoding: bytes) }
            }
        }
    }

    @Test func `entries and changes are cut to what the log takes`() {
        let (standard, short) = (LogBounds(), LogBounds(requestByteCountMax: 10_000))
        #expect(standard.entryByteCountMax == 1 << 20)
        #expect(standard.changeByteCountMax == 1_500_000)
        #expect(LogBounds(requestByteCountMax: 10 << 20) == standard)
        #expect(short.entryByteCountMax == 10_000 - 1024)
        #expect(short.changeByteCountMax == 10_000 - 1024)
    }

    @Test func `an entry of later rules can begin a life, and one of the first ones cannot`()
        throws
    {
        for rules in [RuleLevel.first, .second] {
            var head = Self.head(rules)
            head.life = 1 << 40
            var bytes = LogEntryWriter().bytes(head)
            // In an entry of the first rules, these bytes would be its changes.
            if rules == .first { bytes.removeSubrange(bytes.count - 7..<bytes.count - 1) }
            let found = try LogEntry(decoding: bytes).head
            #expect(found.life == (rules == .first ? nil : 1 << 40))
        }
        var head = Self.head(.second)
        head.life = InputCheck.revisionMax + 1
        #expect(throws: LogEntry.Failure.damaged) {
            try LogEntry(decoding: LogEntryWriter().bytes(head))
        }
    }

    @Test func `an entry of later rules can raise them, and one of the first ones cannot`() throws {
        for (head, raises) in [
            (Self.head(.second, raises: true), true), (Self.head(.second), false),
            (Self.head(.first, raises: true), false),
        ] {
            let found = try LogEntry(decoding: LogEntryWriter().bytes(head)).head
            #expect(found.rules == head.rules && found.raisesRules == raises)
        }
    }

    @Test func `a position of the first rules is what 0_1 reads, and one of later ones is not`() {
        var position = LogPosition(place: LogPlace(7), revision: 1)
        #expect(position.encoded.first == 1 && LogPosition(decoding: position.encoded) == position)
        position.rules = .second
        #expect(position.encoded.first == 2 && LogPosition(decoding: position.encoded) == position)
        #expect(LogPosition(decoding: [3] + position.encoded.dropFirst()) == nil)
    }

    @Test func `a position of later rules knows its log, and one of the first ones does not`() {
        for created in [nil, 9] as [UInt64?] {
            var position = LogPosition(place: LogPlace(7), revision: 1, rules: .second)
            position.log = LogIdentity(etcd: .max, created: created)
            #expect(LogPosition(decoding: position.encoded) == position)
            position.rules = .first
            #expect(LogPosition(decoding: position.encoded)?.log == nil)
        }
    }

    @Test func `a position knows what each writer has sent, and comes back as it was`() throws {
        var position = LogPosition(
            place: LogPlace(70),
            revision: 5,
            time: Timestamp(milliseconds: 9)
        )
        position.unstoredKeys = [1, 2]
        let entered = [(1, 1), (2, 1), (1, 1), (1, 2)].map { (writer: UInt64, sequence: UInt64) in
            position.enters(writer: writer, sequence: sequence)
        }
        #expect(entered == [true, true, false, true])
        #expect(position.writers.map(\.incarnation) == [2, 1])
        #expect(LogPosition(decoding: position.encoded) == position)
        for count in 0..<position.encoded.count {
            #expect(LogPosition(decoding: Array(position.encoded[..<count])) == nil)
        }
        for writer in 3..<UInt64(3 + LogPosition.writerCountMax) {
            let isNew = position.enters(writer: writer, sequence: 1)
            #expect(isNew)
        }
        #expect(position.writers.count == LogPosition.writerCountMax)
        let isNew = position.enters(writer: 2, sequence: 1)
        #expect(isNew, "it was forgotten")
    }

    @Test func `a replica that differs from the others stops, and one of two that differ waits`() {
        func marks(_ others: [UInt64], at now: UInt64 = 0) -> Marks {
            var marks = Marks()
            marks.begin(LogPlace(1))
            for (index, hash) in others.enumerated() {
                marks.heard(
                    LogEntry.Mark(place: LogPlace(1), revision: 1, hash: hash),
                    of: UInt64(index),
                    at: 0
                )
            }
            marks.computed(LogEntry.Mark(place: LogPlace(1), revision: 1, hash: 7), at: now)
            return marks
        }
        let grace = Marks.graceNanoseconds
        #expect(marks([]).divergence(at: grace + 1) == nil && !marks([]).isAsked)
        #expect(marks([7, 7]).divergence(at: grace + 1) == nil && !marks([7, 7]).isAsked)
        #expect(marks([8, 8]).divergence(at: 0) == LogPlace(1))
        #expect(marks([8]).divergence(at: grace) == nil && marks([8]).isAsked)
        #expect(marks([8]).divergence(at: grace + 1) == LogPlace(1))
        #expect(marks([8], at: 2).divergence(at: 1) == nil, "another thread's time is later")
        #expect(marks([7, 8]).divergence(at: grace + 1) == nil, "the other one is wrong")
        #expect(marks([8, 9]).divergence(at: grace + 1) == LogPlace(1))
        var said = marks([8])
        let hash = said.next()?.hash
        #expect(hash == 7)
        let again = said.next()
        #expect(again == nil && !said.isAsked)
    }
}
