internal import LatchkeyContention
internal import LatchkeyStrategies
internal import LatchkeySync
internal import Synchronization

/// The state that the guards of all stripes share.
///
/// **Design.** `number` and `isSwitching` belong to the one switch that is under way; others read
/// them. `meters` is guarded by its lock, which is not held while a meter is made.
final class SharedGuards: Sendable {
    /// A moment at which a test plants a delay.
    enum Step: Sendable {
        /// An access has asked, and has not entered.
        case loaded
        /// An access that is applied later has counted itself, and has not looked again.
        case counted
        /// It has found that it may go on, and was not accepted yet.
        case chosen
        /// A switch holds nothing yet of a stripe.
        case begins
        /// A switch holds a stripe, and has stored nothing.
        case held
        /// A switch has stored the index, and the old guard still serves.
        case stored
    }

    let settings: GuardSettings
    /// The number of the strategy at the end of the last switch.
    let number: Atomic<UInt8>
    let isSwitching = Atomic<Bool>(false)
    /// The longest access that ended since the switch began, in nanoseconds.
    let longestAccess = Atomic<UInt64>(0)
    let step: (@Sendable (Step) -> Void)?
    private let meters = Guarded<[StrategyKind: ContentionMeter]>([:])

    init(_ settings: GuardSettings, step: (@Sendable (Step) -> Void)?) {
        (self.settings, self.step) = (settings, step)
        number = Atomic(Self.number(settings.kind))
    }

    static func number(_ kind: StrategyKind) -> UInt8 {
        UInt8(StrategyKind.allCases.firstIndex(of: kind) ?? 0)
    }

    /// The strategy that new accesses ask.
    var kind: StrategyKind { StrategyKind.allCases[Int(number.load(ordering: .acquiring))] }

    /// The meter of a strategy, asked for once.
    func meter(_ kind: StrategyKind) -> ContentionMeter? {
        guard let make = settings.meter else { return nil }
        if let meter = meters.read({ $0[kind] }) { return meter }
        let meter = make(kind)
        return meters.write { meters in
            meters[kind] = meters[kind] ?? meter
            return meters[kind]
        }
    }

    /// Notes how long an access took, while a switch is under way.
    ///
    /// Relaxed: the time orders nothing.
    func note(_ access: Access) {
        if access.isTimed, isSwitching.load(ordering: .relaxed), let age = access.age {
            longestAccess.max(age, ordering: .relaxed)
        }
    }
}
