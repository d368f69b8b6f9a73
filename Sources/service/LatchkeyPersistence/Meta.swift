internal import LatchkeyStore

/// The numbers of the table `meta`.
enum MetaKey: String, CaseIterable {
    /// A random number that a database keeps.
    case identity
    /// The number of the last probe.
    case probe
    /// The revision before the first commit, also of the database that this one was restored from.
    case startRevision
    /// The revision of the table `stored`.
    case storedRevision
    /// The last row of `changes` that `stored` has.
    case storedRow
    /// The latest time of the commits that `stored` has.
    case storedTime
    /// How many rows `stored` has.
    case storedCount
    /// The sum of their checksums.
    case storedSum
    /// The revision that the round of compaction leads to; that of `stored` between rounds.
    case roundRevision
    /// The last row of `changes` of the round.
    case roundRow
    /// The last row of `changes` before the revisions that were skipped last.
    case skipRow
    /// The last of these revisions: no commit has it; 0 if none were skipped.
    case skipRevision

    /// The keys that came with the third format.
    static let skips = [skipRow, skipRevision]
}

/// The table `meta`.
struct Meta {
    private var values: [MetaKey: Int64] = [:]

    /// The numbers of a new database.
    init(startRevision: Revision, identity: Int64, time: Timestamp) {
        let start = Int64(bitPattern: startRevision)
        values = [
            .identity: identity, .probe: 0, .startRevision: start, .storedRevision: start,
            .storedRow: 0, .storedTime: time.milliseconds, .storedCount: 0, .storedSum: 0,
            .roundRevision: start, .roundRow: 0, .skipRow: 0, .skipRevision: 0,
        ]
    }

    subscript(key: MetaKey) -> Int64 {
        get { values[key] ?? 0 }
        set { values[key] = newValue }
    }

    var startRevision: Revision { Revision(bitPattern: self[.startRevision]) }
    var storedRevision: Revision { Revision(bitPattern: self[.storedRevision]) }
    var roundRevision: Revision { Revision(bitPattern: self[.roundRevision]) }
    var skipRevision: Revision { Revision(bitPattern: self[.skipRevision]) }
    /// Commits up to here cannot be part of a history: the properties that they replaced are not
    /// known any more, or later commits are lost.
    var historyRevision: Revision { max(storedRevision, roundRevision, skipRevision) }

    /// Reads all numbers; the error has a message if one is damaged.
    init(_ connection: Connection) throws(DatabaseError) {
        let statement = try Statement(connection, "select key, value, checksum from meta")
        while try statement.step() {
            guard let key = MetaKey(rawValue: statement.string(0)),
                statement.integer(2) == Self.checksum(key, statement.integer(1))
            else {
                throw DatabaseError(
                    code: DatabaseError.damage,
                    text: "the row '\(statement.string(0))' of the table meta is damaged"
                )
            }
            values[key] = statement.integer(1)
        }
        let format = try connection.integer("pragma user_version") ?? 0
        let needed = MetaKey.allCases.filter { format >= 3 || !MetaKey.skips.contains($0) }
        if let key = needed.first(where: { values[$0] == nil }) {
            throw DatabaseError(
                code: DatabaseError.damage,
                text: "the row '\(key.rawValue)' of the table meta is missing"
            )
        }
        guard isPossible else {
            throw DatabaseError(
                code: DatabaseError.damage,
                text: "the numbers of the table meta are none that are written"
            )
        }
    }

    /// Whether a service can have written the numbers: sums of them do not overflow.
    private var isPossible: Bool {
        let rows: [MetaKey] = [.storedRow, .storedCount, .roundRow, .skipRow]
        return rows.allSatisfy { (0...Self.rowMax).contains(self[$0]) }
            && self[.probe] >= 0 && self[.storedSum] >= 0
            && InputCheck.time(self[.storedTime]) != nil && startRevision <= storedRevision
            && storedRevision <= roundRevision && roundRevision <= InputCheck.revisionMax
            && skipRevision <= InputCheck.revisionMax
    }

    private static let rowMax: Int64 = 1 << 62

    static let writing = "insert or replace into meta(key, value, checksum) values(?, ?, ?)"

    func write(_ keys: some Sequence<MetaKey>, _ statement: Statement) throws(DatabaseError) {
        for key in keys {
            let name = key.rawValue
            try unsafe name.withBytes { (bytes) throws(DatabaseError) in
                try unsafe statement.bindText(1, bytes)
                try statement.bind(2, self[key])
                try statement.bind(3, Self.checksum(key, self[key]))
                try statement.run()
            }
        }
    }

    private static func checksum(_ key: MetaKey, _ value: Int64) -> Int64 {
        let name = key.rawValue
        return unsafe name.withBytes { unsafe RowChecksum.of(.meta, [value, 0, 0, 0, 0], $0) }
    }
}

extension String {
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let bytes = Array(utf8)
        return try unsafe bytes.withBytes(body)
    }
}

extension [UInt8]? {
    /// Calls `body` with the bytes, or with nil.
    func withOptionalBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let self else { return try body(nil) }
        return try unsafe self.withBytes { (bytes) throws(Failure) in try unsafe body(bytes) }
    }
}

extension [UInt8] {
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe body(bytes) }
    }
}
