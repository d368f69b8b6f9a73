internal import CLatchkeySystem
internal import Glibc
package import LatchkeyStore
internal import Synchronization

/// How old the state of a replica can be, and the revision that it has at least.
///
/// **Design.** Any thread writes, and any reads. Time and revision are stored, releasing, after the
/// commits that they describe, and loaded, acquiring, before a request reads anything. So the age
/// in an answer is never below the age of its data, and the data has all changes up to the
/// revision.
package final class StateAge: Sendable {
    /// A time before which the state had everything that others had acknowledged.
    package struct Level: Sendable, Equatable {
        fileprivate let nanoseconds: UInt64
        /// The state has all changes up to this one.
        package let revision: Revision

        /// The state is that of this service alone.
        package static let none = Self(nanoseconds: .max, revision: 0)

        /// The time since then, rounded up.
        package var ageMilliseconds: UInt64 { (ageNanoseconds + 999_999) / 1_000_000 }

        /// The same in seconds.
        package var ageText: String {
            StateAge.secondsText(milliseconds: ageMilliseconds)
        }

        /// The time since then; 0 for ``none``.
        package var ageNanoseconds: UInt64 { self == .none ? 0 : StateAge.now() &- nanoseconds }
    }

    /// The age from which on a replica calls itself stale.
    package static let staleNanoseconds: UInt64 = 5_000_000_000

    /// `Level.none` once the service leads; 0 before it had anything.
    private let levelNanoseconds = Atomic<UInt64>(0)
    private let revision = Atomic<Revision>(0)

    package init() {}

    package static func secondsText(milliseconds: UInt64) -> String {
        let rest = "\(milliseconds % 1000)"
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    /// The nanoseconds since the machine started, its sleep included: else a replica would seem too
    /// young after a pause of its machine.
    package static func now() -> UInt64 {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        precondition(status == 0, "clock_gettime failed.")
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    package var level: Level {
        let nanoseconds = levelNanoseconds.load(ordering: .acquiring)
        guard nanoseconds != Level.none.nanoseconds else { return .none }
        return Level(
            nanoseconds: nanoseconds,
            revision: revision.load(ordering: .acquiring)
        )
    }

    /// Whether the state was up to date at some time, and is now older than a replica should be.
    package var isStale: Bool { level.ageNanoseconds > Self.staleNanoseconds }

    /// Notes that the state has all that others had acknowledged at a time, or later.
    package func isLevel(since nanoseconds: UInt64) {
        // An answer to an earlier question can come later.
        levelNanoseconds.max(nanoseconds, ordering: .releasing)
    }

    /// Notes that the state has all changes up to a revision.
    package func reaches(_ revision: Revision) {
        self.revision.store(revision, ordering: .releasing)
    }

    /// Notes that the state is that of this service alone from now on.
    package func endsFollowing() {
        levelNanoseconds.store(Level.none.nanoseconds, ordering: .releasing)
    }
}
