/// A change of state: steps on one or several properties, each with its conditions.
///
/// A plain value. It is decided as a whole: first the conditions of all steps, against the
/// properties as they were, then the steps in their order, each on the result of those before it.
/// If one step cannot be made, none is.
///
/// The names and values usually borrow the memory of a request: the maker of a change keeps them in
/// place until the completion has been called. See ``unconditionalCopy()`` and
/// ``init(decoding:)`` for changes that own their memory.
@usableFromInline
package struct Change: Sendable {
    @usableFromInline package let first: Step
    /// The steps after the first one.
    ///
    /// Empty for a change of one step, so that such a change allocates nothing.
    @usableFromInline package let others: [Step]

    @usableFromInline
    package init(_ first: Step, _ others: [Step] = []) {
        self.first = first
        self.others = others
    }

    package var steps: [Step] { [first] + others }

    /// Creates or replaces a property, whose value must be a valid JSON text.
    package static func put(
        _ name: PropertyName,
        value: UnsafeRawBufferPointer,
        conditions: Conditions = .none
    ) -> Change {
        Change(Step(name, unsafe .put(value), conditions))
    }

    package static func delete(
        _ name: PropertyName,
        conditions: Conditions = .none
    ) -> Change {
        Change(Step(name, .delete, conditions))
    }

    /// Adds to an integer; a property that does not exist counts from 0.
    package static func increment(
        _ name: PropertyName,
        by step: Int64,
        conditions: Conditions = .none
    ) -> Change {
        Change(Step(name, .increment(by: step), conditions))
    }
}

extension Change {
    /// One step of a change.
    @usableFromInline
    package struct Step: Sendable {
        @usableFromInline package let name: PropertyName
        package let action: Action
        package let conditions: Conditions

        package init(_ name: PropertyName, _ action: Action, _ conditions: Conditions = .none) {
            self.name = name
            self.action = action
            self.conditions = conditions
        }
    }

    /// What a step does.
    ///
    /// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and the owner of
    /// the step's name keeps them in place, or the maker of the change does.
    @safe
    package enum Action: @unchecked Sendable {
        /// Nothing: only the step's conditions count.
        case check
        /// Creates or replaces the property, whose value is these bytes of a JSON text.
        case put(UnsafeRawBufferPointer)
        case delete
        case increment(by: Int64)
    }

    /// Whether the change can make the store larger.
    package var canGrow: Bool {
        first.canGrow || others.contains(where: \.canGrow)
    }

    /// The same steps without their conditions, in memory of their own.
    package func unconditionalCopy() -> Change {
        Change(first.copy(.none), others.map { $0.copy(.none) })
    }
}

extension Change.Step {
    fileprivate var canGrow: Bool {
        switch action {
        case .check, .delete: false
        case .put, .increment: true
        }
    }

    /// The same step under other conditions, in memory of its own.
    package func copy(_ conditions: Conditions) -> Self {
        switch action {
        case .put(let value):
            let owner = unsafe OwnedBytes(copying: name.bytes, value)
            let copy = unsafe UnsafeRawBufferPointer(rebasing: owner.bytes[name.bytes.count...])
            return Self(PropertyName(name, in: owner), unsafe .put(copy), conditions)
        case .check, .delete, .increment:
            return Self(name.copy(), action, conditions)
        }
    }

    /// Checks the conditions, where the property was this before the change.
    func check(_ former: Property?) throws(Refusal) {
        guard conditions.verdict(former?.revision) != .pass else {
            return
        }
        if case .delete = action, former == nil {
            throw .missing
        }
        throw .preconditionFailed
    }

    /// The property that the step leaves of `current`; `prepared` is that of a put.
    func property(
        from current: Property?,
        prepared: Property?
    ) throws(Refusal) -> Property? {
        switch action {
        case .check:
            return current
        case .put:
            return prepared
        case .delete where current == nil:
            throw .missing
        case .delete:
            return nil
        case .increment(let step):
            var number: Int64 = 0
            if let current {
                guard let integer = unsafe JSONInteger.parse(current.valueBytes) else {
                    throw .notAnInteger
                }
                number = integer
            }
            let (sum, overflows) = number.addingReportingOverflow(step)
            guard !overflows else {
                throw .overflow
            }
            return unsafe JSONInteger.withBytes(of: sum) { bytes in
                unsafe Property(name: name, value: bytes)
            }
        }
    }

    /// The property of a put.
    ///
    /// It is made before the guarded section, so that nothing is copied or allocated while others
    /// wait, and anew for each execution, which stamps it: so a change can be executed again, and
    /// by several stores.
    @usableFromInline
    func prepare() -> Property? {
        guard case .put(let value) = action else {
            return nil
        }
        return unsafe Property(name: name, value: value)
    }
}
