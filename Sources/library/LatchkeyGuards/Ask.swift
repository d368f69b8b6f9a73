public import LatchkeySync
internal import Synchronization

/// The call site of an access, and whether its times are wanted.
///
/// The mode is that of the function which is given this.
@usableFromInline package struct Ask: Sendable {
    /// Where the access is asked for.
    @usableFromInline package var site: CallSite
    /// Keeps the times of the access; nil if they are not wanted.
    @usableFromInline package var timing: AccessTiming?

    package init(at site: CallSite, timing: AccessTiming? = nil) {
        (self.site, self.timing) = (site, timing)
    }

    /// Asked for where this is written.
    package static func here(_ fileID: StaticString = #fileID, _ line: UInt = #line) -> Ask {
        Ask(at: CallSite(fileID, line))
    }
}

/// How long the accesses of one request waited for their guards and held them.
///
/// A listing enters many stripes; its times are the longest wait and the longest hold.
///
/// **Design.** Atomics, because other threads than the one that answers may wait and hold. Relaxed,
/// because the guard orders both before the answer.
@usableFromInline package final class AccessTiming: Sendable {
    private let wait = Atomic<UInt64>(0)
    private let hold = Atomic<UInt64>(0)

    package init() {}

    /// The longest wait so far.
    package var waitNanoseconds: UInt64 { wait.load(ordering: .relaxed) }

    /// The longest hold so far.
    package var holdNanoseconds: UInt64 { hold.load(ordering: .relaxed) }

    /// Keeps the longest wait.
    package func waited(_ nanoseconds: UInt64) { wait.max(nanoseconds, ordering: .relaxed) }

    /// Keeps the longest hold.
    package func held(_ nanoseconds: UInt64) { hold.max(nanoseconds, ordering: .relaxed) }
}
