// Values that `snapshot` must not hold. A writer changes a copy while readers use the value; that
// needs a value that can be copied and shares nothing with its copy.

extension Synchronized where Value: AnyObject & Sendable, ChosenStrategy == SnapshotStrategy {
    /// A warning: a copy of a reference is the same object.
    ///
    /// Only a warning, because the compiler passes over an initializer that is unavailable and
    /// takes the general one.
    @available(
        *,
        deprecated,
        message: """
            'snapshot' needs value semantics: a writer would change the object that readers use. \
            Guard a struct, or choose another strategy.
            """
    )
    @inlinable public init(_ value: consuming Value) {
        self.init(value, strategy: SnapshotStrategy())
    }
}
