internal import CLatchkeySystem
internal import LatchkeyStrategies
internal import Synchronization

/// How long one request waited for its guard and held it, for `Server-Timing`.
///
/// A listing enters all stripes; its times are the longest wait and the longest hold.
///
/// **Design.** Atomics, because other threads than the one that answers may wait and hold. Relaxed,
/// because the strategy orders both before the answer.
final class RequestTiming: Sendable {
    let waitNanoseconds = Atomic<UInt64>(0)
    let holdNanoseconds = Atomic<UInt64>(0)

    /// The value of the field (W3C Server Timing), in milliseconds.
    func field(startedNanoseconds: UInt64) -> String {
        let total = latchkey_system_nanoseconds() &- startedNanoseconds
        return "wait;dur=\(Self.milliseconds(waitNanoseconds.load(ordering: .relaxed))), "
            + "hold;dur=\(Self.milliseconds(holdNanoseconds.load(ordering: .relaxed))), "
            + "total;dur=\(Self.milliseconds(total))"
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> Double {
        (Double(nanoseconds) / 1000).rounded() / 1000
    }
}

/// Keeps the longest wait and hold of a request's accesses, if the service sends them.
struct TimingObserver: EntryObserver {
    struct TimedEntry: BitwiseCopyable, Sendable {
        var nanoseconds: UInt64 = 0
    }

    let timing: RequestTiming?
    /// Where the access is asked for.
    let site: CallSite

    static var isActive: Bool { false }

    func asks(_ request: AccessRequest) -> TimedEntry {
        TimedEntry(nanoseconds: timing == nil ? 0 : latchkey_system_nanoseconds())
    }

    func isBlocked(_ entry: inout TimedEntry) {}

    func enters(_ entry: inout TimedEntry) {
        guard let timing else {
            return
        }
        let now = latchkey_system_nanoseconds()
        timing.waitNanoseconds.max(now &- entry.nanoseconds, ordering: .relaxed)
        entry.nanoseconds = now
    }

    func leaves(_ entry: TimedEntry) {
        guard let timing else {
            return
        }
        let now = latchkey_system_nanoseconds()
        timing.holdNanoseconds.max(now &- entry.nanoseconds, ordering: .relaxed)
    }

    func givesUp(_ entry: TimedEntry) {
        if let timing {
            let waited = latchkey_system_nanoseconds() &- entry.nanoseconds
            timing.waitNanoseconds.max(waited, ordering: .relaxed)
        }
    }
}
