// What `snapshot` must not hold. A writer changes a copy while readers use the value; that needs a
// value which can be copied and which the copy does not share.

extension Synchronized where Value: AnyObject & Sendable, ChosenStrategy == SnapshotStrategy {
    /// A warning: a copy of a reference is the same object.
    ///
    /// No more than a warning, because the compiler passes over an initializer that is unavailable
    /// and takes the general one.
    @available(
        *,
        deprecated,
        message: """
            'snapshot' needs value semantics: a writer would change the object that readers use. \
            Guard a struct, or choose another strategy.
            """
    )
    @inlinable
    public init(_ value: consuming Value) {
        self.init(value, strategy: SnapshotStrategy())
    }
}

extension Synchronized where Value: ~Copyable, ChosenStrategy == SnapshotStrategy {
    /// Not available: a writer changes a copy while readers use the value.
    @available(
        *,
        unavailable,
        message: """
            'snapshot' needs a value that is copyable and Sendable: writers change a copy while \
            readers use the value. Choose another strategy.
            """
    )
    public init(_ value: consuming sending Value) { fatalError() }
}

extension Synchronized where Value: Sendable, ChosenStrategy == SnapshotStrategy {
    /// A value with a strategy of its own.
    @inlinable
    public init(_ value: consuming sending Value) {
        let guarded = GuardedValue(value)
        self.init(guarded, SnapshotStrategy(in: guarded))
        strategy.begin(guarded)
    }
}
