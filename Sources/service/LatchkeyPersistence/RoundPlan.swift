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
    /// With `byteCountMax`, it ends with the commit that brings its values beyond so many bytes:
    /// until the end of a round, they are in the database twice.
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
            let sorted = entries.sorted { one, other in
                unsafe name(one).order(name(other)) ?? (one.row < other.row)
            }
            return sorted.indices.filter { index in
                index + 1 == sorted.count
                    || (unsafe name(sorted[index]).order(name(sorted[index + 1]))) != nil
            }.map { sorted[$0].row }
        }
        return CompactionRound(
            rows: latest,
            lastRow: lastRow,
            revision: revision,
            time: Timestamp(milliseconds: time)
        )
    }
}
