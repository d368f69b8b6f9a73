internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyStore
internal import LatchkeyWatches

/// The bounds that can be reached while the service runs: the one list of them.
///
/// A bound has the name of the flag that sets it, or of the limit that is a constant. Bounds of one
/// request, such as --max-body-bytes, and shares of one client are not here: no other client sees
/// them.
struct ServiceBounds: Sendable {
    /// What happens at a bound.
    enum Effect: String, Encodable {
        /// What is new is refused.
        case refuses
        /// What is oldest, or least used, is forgotten. It is normal to be at such a bound.
        case forgets
    }

    /// A bound, and how much of it is in use now.
    struct Reading: Encodable, Equatable {
        /// The flag, without hyphens in front, or the limit.
        let name: String
        /// The prefix of names, for a quota.
        let prefix: String?
        let effect: Effect
        let limit: Int
        let used: Int

        init(name: String, prefix: String? = nil, effect: Effect, limit: Int, used: Int) {
            self.name = name
            self.prefix = prefix
            self.effect = effect
            self.limit = limit
            // Counts that change meanwhile can be below 0 for a moment.
            self.used = max(0, used)
        }

        /// The part of the bound that is in use; 1 is the bound.
        var share: Double { limit > 0 ? Double(used) / Double(limit) : used > 0 ? 1 : 0 }
    }

    private struct Bound: Sendable {
        let name: String
        let effect: Effect
        let limit: Int
        /// Nil where there is nothing of the kind now.
        let used: @Sendable () -> Int?
    }

    private var bounds: [Bound] = []
    private let store: PropertyStore

    /// All bounds of a service.
    init(
        _ configuration: ServiceConfiguration,
        _ maker: StoreRouteMaker,
        _ made: StoreRouteMaker.Made,
        _ server: HTTPServer,
        _ answers: AnswerBudget
    ) {
        let (store, journal, operations) = (made.store, maker.journal, made.operations)
        self.store = store
        let (watches, exports) = (maker.watches, maker.exports)
        add("max-connections", configuration.http.connectionsMax) { server.servedCount }
        add("max-watchers", configuration.watchLimits.watcherCountMax) { watches.watcherCount }
        add("max-exports", configuration.exportCountMax) { exports.count }
        add("answer-bytes", configuration.answerByteCountMax) { answers.byteCount }
        let bounds = configuration.storeLimits
        let effect = bounds.eviction == .refuse ? Effect.refuses : .forgets
        add("max-properties", bounds.propertyCountMax, effect) { store.usage.propertyCount }
        add("max-bytes", bounds.byteCountMax, effect) { store.usage.byteCount }
        add("history-bytes", configuration.historyLimits.byteCountMax, .forgets) {
            journal.usage.byteCount
        }
        let limits = configuration.operationLimits
        add("max-operations", limits.countMax) { operations.counts.count { !$0.isFinal } }
        add("operation-history", limits.historyCountMax, .forgets) {
            operations.counts.count { $0.isFinal }
        }
        // Values of ended operations are forgotten first.
        add("max-operation-bytes", limits.byteCountMax, .forgets) { operations.byteCount }
        if let repetition = maker.requests.repetition {
            let limits = configuration.idempotency
            add("max-idempotency-keys", limits.keyCountMax) { repetition.keyCount }
            add("idempotency-bytes", limits.byteCountMax) { repetition.byteCount }
        }
        add("backlog", configuration.backlogMax) { store.fullestBacklog }
        if let persistence = maker.data?.persistence {
            add("max-wal-bytes", configuration.persistence.logByteCountMax) {
                persistence.status.logByteCount
            }
        }
    }

    private mutating func add(
        _ name: String,
        _ limit: Int,
        _ effect: Effect = .refuses,
        used: @escaping @Sendable () -> Int?
    ) {
        bounds.append(Bound(name: name, effect: effect, limit: limit, used: used))
    }

    /// All bounds, always in the same order.
    var readings: [Reading] {
        bounds.compactMap { bound in
            bound.used().map { used in
                Reading(name: bound.name, effect: bound.effect, limit: bound.limit, used: used)
            }
        }
            + store.quotaUsage.map { usage in
                Reading(
                    name: "quota",
                    prefix: usage.quota.text,
                    effect: .refuses,
                    limit: usage.quota.byteCountMax,
                    used: usage.byteCount
                )
            }
    }

    // MARK: Metrics

    private static let used = MetricFamily(
        "latchkey_bound_used",
        .gauge,
        help: "How much of a bound is in use, in its unit. Its label is a flag, or a constant."
    )
    private static let limit = MetricFamily(
        "latchkey_bound_limit",
        .gauge,
        help: "The bound. At it, the service refuses what is new, or forgets what is old."
    )

    func register(in registry: MetricRegistry) {
        let labels = readings.map(\.labels)
        registry.collect([Self.used, Self.limit]) { writer in
            let rows = zip(labels, readings)
            writer.begin(Self.used)
            for (label, now) in rows { writer.sample(label, UInt64(clamping: now.used)) }
            writer.begin(Self.limit)
            for (label, now) in rows { writer.sample(label, UInt64(clamping: now.limit)) }
        }
    }
}

extension ServiceBounds.Reading {
    fileprivate var labels: Labels {
        let pairs = [(name: "bound", value: name), (name: "effect", value: effect.rawValue)]
        return Labels(pairs + (prefix.map { [(name: "prefix", value: $0)] } ?? []))
    }
}

extension OperationCounts {
    /// How many operations are in one of these states.
    fileprivate func count(_ isCounted: (OperationState) -> Bool) -> Int {
        byState.reduce(0) { $0 + (isCounted($1.key) ? $1.value : 0) }
    }
}
