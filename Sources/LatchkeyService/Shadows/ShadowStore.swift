internal import LatchkeyContention
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// A shadow of the serving store: the same limits and stripes under another strategy.
///
/// **Design.** Two bounds limit the growth of a shadow.
///
/// A property that is deleted outside a sample stays in the shadow. If the shadow holds more than
/// twice as much as the serving store, it first empties the stripes of the next write.
///
/// A strategy that submits every access never blocks its caller, so at most as many operations as
/// the backlog's bound are in progress; further ones are refused and counted. A queue that submits
/// only writes has its own bound for them, and its reads wait for the writes before them, as in the
/// serving store.
struct ShadowStore<ChosenStrategy: Strategy>: Sendable {
    private let store: PropertyStore<ChosenStrategy>
    private let servingUsage: @Sendable () -> StoreUsage
    private let stripeCount: Int
    private let pending: PendingOperations?
    private let refusals: RefusalCount
    /// Of the type that the serving store has, so that code is compiled once for both.
    private var observer: TimingObserver { TimingObserver(timing: nil, site: .unknown) }

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - store: The store, whose strategy is metered.
    ///   - servingUsage: How full the serving store is.
    ///   - stripeCount: How many stripes the store has.
    ///   - backlogMax: The maximum number of operations in progress, where none blocks its caller.
    ///   - refusals: Where refused operations are counted.
    init(
        _ store: PropertyStore<ChosenStrategy>,
        servingUsage: @escaping @Sendable () -> StoreUsage,
        stripeCount: Int,
        backlogMax: Int,
        refusals: RefusalCount
    ) {
        self.store = store
        self.servingUsage = servingUsage
        self.stripeCount = stripeCount
        self.refusals = refusals
        pending = ChosenStrategy.traits.blocksCaller ? nil : PendingOperations(countMax: backlogMax)
    }

    /// The store without its type.
    var shadow: AnyShadowStore {
        AnyShadowStore(look: { look($0) }, commit: { commit($0) }, list: { list($0) })
    }

    func look(_ name: PropertyName) {
        guard begin() else { return }
        do throws(BacklogFull) {
            try store.look(name, observer: observer) { _ in end() }
        } catch {
            refusals.add()
            end()
        }
    }

    func commit(_ change: Change) {
        guard begin() else { return }
        do throws(BacklogFull) {
            if change.canGrow {
                for step in change.steps {
                    try makeRoom(step.name)
                }
            }
            try store.commit(change, observer: observer) { _ in end() }
        } catch {
            refusals.add()
            end()
        }
    }

    func list(_ request: PageRequest) {
        guard begin() else { return }
        store.list(request, observer: observer) { _ in end() }
    }

    private func makeRoom(_ name: PropertyName) throws(BacklogFull) {
        let (serving, own) = (servingUsage(), store.usage)
        let countMax = 2 * serving.propertyCount + Self.slackCount * stripeCount
        let byteCountMax = 2 * serving.byteCount + Self.slackByteCount * stripeCount
        if own.propertyCount > countMax || own.byteCount > byteCountMax {
            try store.evict(inStripeOf: name)
        }
    }

    /// How many properties a stripe may have beyond twice the serving store's.
    private static var slackCount: Int { 64 }
    /// How many bytes a stripe may have beyond twice the serving store's.
    private static var slackByteCount: Int { 64 << 10 }

    private func begin() -> Bool {
        guard let pending, !pending.begin() else { return true }
        refusals.add()
        return false
    }

    private func end() {
        pending?.end()
    }
}

/// Counts the operations of one shadow that are in progress, up to a bound.
private final class PendingOperations: Sendable {
    private let count = Atomic<Int>(0)
    private let countMax: Int

    init(countMax: Int) {
        self.countMax = countMax
    }

    /// Relaxed, here and below: the count orders nothing.
    func begin() -> Bool {
        let count = count.add(1, ordering: .relaxed).newValue
        guard count <= countMax else {
            end()
            return false
        }
        return true
    }

    func end() {
        count.subtract(1, ordering: .relaxed)
    }
}

/// How many sampled operations a shadow refused.
final class RefusalCount: Sendable {
    private let count = Atomic<UInt64>(0)

    /// Relaxed: the number orders nothing.
    var value: UInt64 { count.load(ordering: .relaxed) }

    func add() {
        count.wrappingAdd(1, ordering: .relaxed)
    }
}
