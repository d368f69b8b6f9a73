/// A property whose value is guarded: ``Guarded`` as a property wrapper.
///
/// ```swift
/// final class Session {
///     @GuardedProperty var attempts = 0
///
///     func retry() -> Int {
///         $attempts.write { $0 += 1; return $0 }
///     }
/// }
/// ```
///
/// The property reads a copy, in one blocking access. It cannot be assigned, because `attempts +=
/// 1` would be a read and a write with a gap in between, and lose updates. The `$` property has all
/// access functions.
///
/// Swift 6 makes a wrapped property a variable. So it forbids one in a `Sendable` class and as a
/// global or static variable, whatever the wrapper does. Write
/// `let attempts = Guarded<Int>(0)` there. Structs, actors, and classes that are not `Sendable` can
/// have wrapped properties. A copy of a struct shares the guarded value with the original.
@propertyWrapper
public struct GuardedProperty<Value: Sendable>: Sendable {
    /// The guarded value with all its access functions.
    public let projectedValue: Guarded<Value>

    /// Guards a value.
    @inlinable public init(wrappedValue: consuming Value) {
        projectedValue = Guarded(wrappedValue)
    }

    /// A copy of the value: ``Synchronized/value``.
    @inlinable public var wrappedValue: Value { projectedValue.value }
}
