internal import LatchkeyStore

/// The numbers of a row of the table `changes`.
struct ChangeRow {
    private static let columns =
        "row, revision, more, reason, time, created, expiry, checksum, name, value"
    static let added = "author, kept"
    static let writing =
        "insert into changes(\(columns), \(added)) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    static let reading = "select \(columns), \(added) from changes"

    /// The query of all rows, with these expressions for the columns ``added``.
    static func readingAll(added: String) -> String {
        "select \(columns), \(added) from changes order by row"
    }

    let row: Int64
    /// The revision of the commit.
    let revision: Revision
    /// The numbers of the property, whose revision can be an earlier one.
    let numbers: RowNumbers
    let more: Int64
    let reason: Int64
    let milliseconds: Int64
    let checksum: Int64
    let isRemoval: Bool

    var time: Timestamp { Timestamp(milliseconds: milliseconds) }

    /// Reads the current row of a statement with ``columns``.
    init(_ rows: Statement) {
        row = rows.integer(0)
        more = rows.integer(2)
        reason = rows.integer(3)
        milliseconds = rows.integer(4)
        isRemoval = rows.isNull(9)
        revision = Revision(bitPattern: rows.integer(1))
        numbers = RowNumbers(
            revision: rows.optionalInteger(11) ?? rows.integer(1),
            created: rows.integer(5),
            expiry: rows.optionalInteger(6)
        )
        checksum = rows.integer(7)
    }

    func computedChecksum(_ rows: Statement) -> Int64 {
        unsafe Self.checksum(
            numbers,
            revision: Int64(bitPattern: revision),
            more: more,
            reason: reason,
            time: milliseconds,
            rows.bytes(8),
            isRemoval ? nil : rows.bytes(9),
            rows.optionalBytes(10)
        )
    }

    static func checksum(
        _ numbers: RowNumbers,
        revision: Int64,
        more: Int64,
        reason: Int64,
        time: Int64,
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer?,
        _ author: UnsafeRawBufferPointer?
    ) -> Int64 {
        unsafe RowChecksum.of(
            .changes,
            [
                revision, more << 8 | reason, time, numbers.created,
                numbers.expiry ?? .max,
            ],
            name,
            value,
            author: author,
            kept: numbers.revision == revision ? nil : numbers.revision
        )
    }

    /// The effect; nil if the row is not a valid one.
    func effect(_ rows: Statement) -> StoredEffect? {
        guard rows.isText(8), isRemoval || rows.isText(9), rows.isNull(10) || rows.isText(10),
            let byte = UInt8(exactly: reason),
            let reason = Commit.Reason(rawValue: byte),
            (reason == .touched) == (numbers.revision != Int64(bitPattern: revision)),
            InputCheck.revision(revision) != nil, InputCheck.time(milliseconds) != nil
        else {
            return nil
        }
        guard !isRemoval else {
            return reason == .touched
                ? nil
                : unsafe InputCheck.name(rows.bytes(8)).map {
                    StoredEffect(name: $0.copy(), property: nil, reason: reason)
                }
        }
        guard reason == .requested || reason == .touched,
            let property = unsafe RowReader.property(rows.bytes(8), rows.bytes(9), numbers),
            property.revision <= revision, let name = RowReader.name(of: property)
        else { return nil }
        return StoredEffect(name: name, property: property, reason: reason)
    }
}
