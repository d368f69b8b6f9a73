internal import LatchkeyJSON

/// The one check for names, values, times and revisions that do not come from a client of this
/// service, but from a file, a log, a leader or another replica.
///
/// Input that passes could have come from a client, under some settings of this program, so later
/// work on it cannot fail. The code that reads such bytes reports the part that did not pass.
package enum InputCheck {
    /// The maximum of `--max-json-depth`.
    package static let depthMax = 10_000
    /// The maximum of `--max-body-bytes`.
    package static let valueByteCountMax = 1 << 30
    /// Below it, sums with the jumps of a restore or a promotion are still numbers of a file.
    package static let revisionMax: Revision = 1 << 62
    /// The end of the year 2250.
    ///
    /// Linux sets no clock beyond 2232, and nanoseconds since 1970 have 63 bits until 2262.
    package static let millisecondsMax: Int64 = 8_867_491_199_999

    /// Whether a client could have sent the bytes as a value or as a merge patch.
    package static func isValue(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= valueByteCountMax else { return false }
        do {
            try unsafe JSONText.check(bytes, depthMax: depthMax)
            return true
        } catch {
            return false
        }
    }

    /// The name, if it is valid.
    ///
    /// The owner keeps the bytes in place, if the caller does not.
    package static func name(
        _ bytes: UnsafeRawBufferPointer,
        owner: AnyObject? = nil
    ) -> PropertyName? {
        try? unsafe PropertyName(borrowing: bytes, owner: owner)
    }

    /// The revision, if a store can have it; 0 is before all commits.
    package static func revision(_ number: some BinaryInteger) -> Revision? {
        Revision(exactly: number).flatMap { $0 <= revisionMax ? $0 : nil }
    }

    /// The time, if a clock can show it.
    package static func time(_ milliseconds: some BinaryInteger) -> Timestamp? {
        Int64(exactly: milliseconds).flatMap {
            (0...millisecondsMax).contains($0) ? Timestamp(milliseconds: $0) : nil
        }
    }

    /// The end of a time to live, if a valid time to live from a valid time can end then.
    package static func expiry(_ milliseconds: some BinaryInteger) -> Timestamp? {
        Int64(exactly: milliseconds).flatMap {
            (0...millisecondsMax + TimeToLiveText.millisecondsMax).contains($0)
                ? Timestamp(milliseconds: $0) : nil
        }
    }

    /// The property, if a store can have it: its value is valid, and it was created at its revision
    /// or before.
    ///
    /// The name was checked before, and the expiry is in milliseconds since 1970, nil for never.
    package static func property(
        _ name: PropertyName,
        _ value: UnsafeRawBufferPointer,
        revision: some BinaryInteger,
        created: some BinaryInteger,
        expiry: Int64?
    ) -> Property? {
        guard unsafe isValue(value),
            let revision = self.revision(revision), let created = self.revision(created),
            created > 0, created <= revision,
            let expiry = expiry.map({ self.expiry($0) }) ?? .never
        else { return nil }
        return unsafe Property(
            name: name,
            value: value,
            revision: revision,
            created: created,
            expiry: expiry
        )
    }
}
