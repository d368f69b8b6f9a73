internal import Glibc

/// A change that has been decided: its revision, and what it does to which property.
///
/// A plain value. Its properties never change and own their bytes.
@usableFromInline
package struct Commit: Sendable {
    package let revision: Revision
    /// When the change was submitted, by the submitter's clock.
    ///
    /// The order of the times can differ from that of the revisions.
    package let time: Timestamp
    /// The effect on the first property that the commit changes, if there is one.
    package let first: Effect?
    /// What it does to the others, each once.
    package let others: [Effect]

    package var effects: [Effect] { (first.map { [$0] } ?? []) + others }

    @usableFromInline var names: [PropertyName] { effects.map { PropertyName(of: $0.some) } }

    package init(revision: Revision, time: Timestamp, first: Effect?, others: [Effect] = []) {
        self.revision = revision
        self.time = time
        self.first = first
        self.others = others
    }

    /// What a commit does to one property.
    package struct Effect: Sendable {
        /// The property before, if there was one.
        package let former: Property?
        /// The property after, if there is one.
        package let property: Property?
        package let reason: Reason

        /// One of the two properties is there.
        package init?(from former: Property?, to property: Property?, _ reason: Reason) {
            guard former != nil || property != nil else {
                return nil
            }
            self.former = former
            self.property = property
            self.reason = reason
        }

        /// The name's bytes.
        ///
        /// Valid while the effect lives.
        package var nameBytes: UnsafeRawBufferPointer {
            unsafe some.nameBytes
        }

        /// A property that has the name.
        var some: Property {
            guard let some = property ?? former else {
                preconditionFailure("An effect has a property before or after it.")
            }
            return some
        }
    }

    /// Why a commit changed a property.
    package enum Reason: UInt8, Sendable {
        /// A step of the change says so.
        case requested
        /// The property was removed to make room.
        case evicted
    }
}

/// Why a change was not made.
///
/// Nothing of it is applied, now or later.
@usableFromInline
package enum Refusal: Error, Hashable, Sendable {
    /// There is no property to delete.
    case missing
    case preconditionFailed
    /// The value is not an integer of at most 64 bits.
    case notAnInteger
    /// The sum is not an integer of at most 64 bits.
    case overflow
    case full(StoreFull)
}

/// The result of a change.
@usableFromInline package typealias Decision = Result<Commit, Refusal>

/// A moment of the calendar: milliseconds since the start of 1970, UTC.
@usableFromInline
package struct Timestamp: Sendable, Hashable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }
}

/// Where a store gets the time from.
@usableFromInline
package struct StoreClock: Sendable {
    @usableFromInline let now: @Sendable () -> Timestamp

    package init(_ now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// The system's calendar clock, exact to a few milliseconds: the coarse one, which is read in a
    /// few nanoseconds (clock_gettime(2)).
    package static let system = StoreClock {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        precondition(status == 0, "clock_gettime failed for the coarse clock.")
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
