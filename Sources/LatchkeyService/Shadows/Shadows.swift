internal import LatchkeyStore

/// The stores that are given a share of the live operations, each under a strategy of its own.
///
/// **Design.** The thread that serves an operation applies it to the shadows too, when it is done
/// with the serving store, so that the shadows meet the traffic as it is. What it needs is copied
/// before: an operation that is served later may give the request's memory back at any time. Their
/// results are thrown away, they count their own revisions, and they refuse for themselves, so no
/// answer depends on them. What they cost is time of that thread.
///
/// Each sample begins with another shadow, so that none always comes first.
struct Shadows: Sendable {
    private let stores: [Shadow]
    private let sampler: ShadowSampler
    private let nanoseconds: @Sendable () -> UInt64

    /// The shadows of a service, `nil` if it has none.
    ///
    /// - Parameters:
    ///   - stores: The shadows.
    ///   - sampler: Which moments are sampled.
    ///   - nanoseconds: A clock that never goes back.
    init?(
        _ stores: [Shadow],
        _ sampler: ShadowSampler,
        nanoseconds: @escaping @Sendable () -> UInt64
    ) {
        guard !stores.isEmpty else { return nil }
        self.stores = stores
        self.sampler = sampler
        self.nanoseconds = nanoseconds
    }

    /// Copies an operation that is about to be served, if it is sampled.
    ///
    /// - Returns: what applies it to all shadows.
    func sample(_ copy: () -> (Shadow) -> Void) -> (() -> Void)? {
        sampler.draw(at: nanoseconds()).map { number in
            let operation = copy()
            return {
                let first = Int(truncatingIfNeeded: number) % stores.count
                for index in stores.indices {
                    operation(stores[(first + index) % stores.count])
                }
            }
        }
    }
}

/// A store under a strategy that is tried out.
///
/// **Design.** Closures, not a protocol: made where the strategy is known, they are compiled for
/// it, as the serving store's are. The witnesses of a generic type would not be, and would hold the
/// guard for longer than the serving store does.
struct Shadow: Sendable {
    /// Finds the property of a name that owns its bytes.
    let look: @Sendable (_ name: PropertyName) -> Void

    /// Commits a change that owns its bytes, without conditions: they name revisions of the serving
    /// store.
    let commit: @Sendable (_ change: Change) -> Void

    /// Lists properties.
    let list: @Sendable (_ request: PageRequest) -> Void
}
