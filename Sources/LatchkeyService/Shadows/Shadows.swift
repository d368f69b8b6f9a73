internal import LatchkeyStore

/// The stores that get a share of the live operations, each under its own strategy.
///
/// **Design.** The thread that serves an operation applies it to the shadows after the serving
/// store, so that they get the real traffic. The operation is copied before, because the memory of
/// the request may be freed as soon as the serving store is done. Results of shadows are thrown
/// away, and shadows have their own revisions and bounds, so no answer depends on them. They cost
/// time of the serving thread.
///
/// Each sample begins with another shadow, so that no shadow is always first.
struct Shadows: Sendable {
    private let stores: [AnyShadowStore]
    private let sampler: ShadowSampler
    private let nanoseconds: @Sendable () -> UInt64

    /// The shadows of a service, or `nil` if it has none.
    ///
    /// - Parameters:
    ///   - stores: The shadows.
    ///   - sampler: Chooses the moments that are sampled.
    ///   - nanoseconds: A monotonic clock.
    init?(
        _ stores: [AnyShadowStore],
        _ sampler: ShadowSampler,
        nanoseconds: @escaping @Sendable () -> UInt64
    ) {
        guard !stores.isEmpty else { return nil }
        self.stores = stores
        self.sampler = sampler
        self.nanoseconds = nanoseconds
    }

    /// Copies an operation before it is served, if it is sampled.
    ///
    /// - Returns: A closure that applies the copy to all shadows.
    func sample(_ copy: () -> (AnyShadowStore) -> Void) -> (() -> Void)? {
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

/// A shadow store whose strategy is not part of its type.
///
/// **Design.** Closures, not a protocol: they are made where the strategy is known, so they are
/// compiled for it, like the code of the serving store. Protocol witnesses would not be, and would
/// hold the guard for longer than the serving store does.
struct AnyShadowStore: Sendable {
    /// Finds the property of a name that owns its bytes.
    let look: @Sendable (_ name: PropertyName) -> Void

    /// Commits a change that owns its bytes and has no conditions, which would name revisions of
    /// the serving store.
    let commit: @Sendable (_ change: Change) -> Void

    /// Lists properties.
    let list: @Sendable (_ request: PageRequest) -> Void
}
