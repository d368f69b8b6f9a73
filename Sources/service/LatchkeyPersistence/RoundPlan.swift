internal import LatchkeyStore

/// A round of compaction: which rows of `changes` go into `stored`.
struct CompactionRound: Sendable {
    /// The latest row of each name, sorted by name.
    let rows: [Int64]
    /// How many of them are done.
    var position = 0
    /// The last row of the round, which ends a commit.
    let lastRow: Int64
    let revision: Revision
    /// The latest time of a commit.
    let time: Timestamp
}

/// The latest rows of all names in a part of the table `changes`.
struct RoundPlan {
    private struct Entry {
        let row: Int64
        let start: Int
        let count: Int
    }

    private(set) var lastRow: Int64
    private var revision: Revision = 0
    private var time = Int64.min
    private var names: [UInt8] = []
    private var valueByteCount = 0
    private var entries: [Entry] = []

    init(after row: Int64) {
        lastRow = row
    }

    /// Reads commits up to a revision, but all up to the row `atLeast`.
    ///
    /// With `byteCountMax`, it ends with the commit whose values exceed so many bytes: until the
    /// end of a round, they are in the database twice.
    mutating func read(
        _ connection: Connection,
        through bound: Revision,
        atLeast: Int64,
        byteCountMax: Int? = nil,
        _ tuning: Tuning
    ) throws(DatabaseError) {
        // To tell the length, SQLite reads the value.
        let length = byteCountMax == nil ? "0" : "length(cast(value as blob))"
        let rows = try Statement(
            connection,
            "select row, revision, more, time, name, \(length) from changes where row > ? "
                + "order by row limit 20000"
        )
        var uncommitted: [Entry] = []
        var last = lastRow
        while true {
            defer { rows.reset() }
            try rows.bind(1, last)
            var count = 0
            while try rows.step() {
                count += 1
                last = rows.integer(0)
                let found = Revision(bitPattern: rows.integer(1))
                let isFull =
                    entries.count >= tuning.roundCountMax
                    || names.count >= tuning.roundNameByteCountMax
                    || !entries.isEmpty && valueByteCount >= byteCountMax ?? .max
                if last > atLeast, found > bound || isFull {
                    return
                }
                let name = unsafe rows.bytes(4)
                uncommitted.append(Entry(row: last, start: names.count, count: name.count))
                unsafe names.append(contentsOf: name)
                valueByteCount += Int(rows.integer(5))
                time = max(time, rows.integer(3))
                if rows.integer(2) == 0 {
                    entries += uncommitted
                    uncommitted.removeAll(keepingCapacity: true)
                    lastRow = last
                    revision = found
                }
            }
            if count < 20_000 {
                return
            }
        }
    }

    /// The round, or nil if there are no rows.
    var round: CompactionRound? {
        guard !entries.isEmpty else {
            return nil
        }
        let latest = unsafe names.withBytes { names -> [Int64] in
            func name(_ entry: Entry) -> UnsafeRawBufferPointer {
                unsafe UnsafeRawBufferPointer(
                    rebasing: names[entry.start..<entry.start + entry.count]
                )
            }
            // Most names differ in the bytes after their common prefix: one comparison of numbers
            // instead of one of names.
            let shared = unsafe sharedByteCount(name)
            let sorted = entries.map { entry in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: name(entry)[shared...])
                return (key: unsafe Self.key(rest), entry: entry)
            }.sorted { one, other in
                guard one.key == other.key else { return one.key < other.key }
                return unsafe name(one.entry).order(name(other.entry))
                    ?? (one.entry.row < other.entry.row)
            }
            return sorted.indices.filter { index in
                guard index + 1 < sorted.count else { return true }
                let (one, next) = (sorted[index], sorted[index + 1])
                return one.key != next.key
                    || (unsafe name(one.entry).order(name(next.entry))) != nil
            }.map { sorted[$0].entry.row }
        }
        return CompactionRound(
            rows: latest,
            lastRow: lastRow,
            revision: revision,
            time: Timestamp(milliseconds: time)
        )
    }

    /// The length of the common prefix of all names.
    private func sharedByteCount(_ name: (Entry) -> UnsafeRawBufferPointer) -> Int {
        guard let first = entries.first else { return 0 }
        var shared = unsafe name(first)
        for entry in entries {
            let name = unsafe name(entry)
            var count = 0
            while unsafe count < min(shared.count, name.count) && shared[count] == name[count] {
                count += 1
            }
            unsafe shared = UnsafeRawBufferPointer(rebasing: shared[..<count])
        }
        return shared.count
    }

    /// The first eight bytes, as a number that sorts as they do.
    private static func key(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var key: UInt64 = 0
        for index in 0..<8 {
            unsafe key = key << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0)
        }
        return key
    }
}
