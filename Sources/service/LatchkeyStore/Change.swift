/// A change of state: one step, or a transaction of several.
///
/// A plain value. It is decided as a whole. If one step cannot be made, none is.
///
/// The names and values usually borrow the memory of a request: the maker of a change keeps them in
/// place until the completion has been called. See ``Step/copy(_:)`` and ``init(decoding:)`` for
/// changes that own their memory.
package enum Change: Sendable {
    /// A case of its own, so that such a change allocates nothing.
    case step(Step)
    case transaction(Transaction)

    /// Creates or replaces a property, whose value must be a valid JSON text.
    package static func put(
        _ name: PropertyName,
        value: UnsafeRawBufferPointer,
        ttl: TimeToLive? = nil,
        isOnlyIfNew: Bool = false,
        conditions: Conditions = .none
    ) -> Change {
        .step(Step(name, unsafe .put(value), ttl: ttl, isOnlyIfNew: isOnlyIfNew, conditions))
    }

    package static func delete(
        _ name: PropertyName,
        conditions: Conditions = .none
    ) -> Change {
        .step(Step(name, .delete, conditions))
    }

    /// Adds to an integer; a property that does not exist counts from 0.
    package static func increment(
        _ name: PropertyName,
        by step: Int64,
        ttl: TimeToLive? = nil,
        isOnlyIfNew: Bool = false,
        conditions: Conditions = .none
    ) -> Change {
        .step(Step(name, .increment(by: step), ttl: ttl, isOnlyIfNew: isOnlyIfNew, conditions))
    }

    /// Applies a JSON merge patch (RFC 7396), which must be a valid JSON text.
    ///
    /// A property that does not exist is made.
    package static func merge(
        _ name: PropertyName,
        patch: UnsafeRawBufferPointer,
        ttl: TimeToLive? = nil,
        isOnlyIfNew: Bool = false,
        conditions: Conditions = .none
    ) -> Change {
        .step(Step(name, unsafe .merge(patch), ttl: ttl, isOnlyIfNew: isOnlyIfNew, conditions))
    }

    /// Starts the time to live of a property again.
    package static func touch(
        _ name: PropertyName,
        ttl: TimeToLive,
        conditions: Conditions = .none
    ) -> Change {
        .step(Step(name, .touch, ttl: ttl, conditions))
    }

    /// Removes an expired property, unless it has another revision by now.
    static func expire(_ name: PropertyName, at revision: Revision) -> Change {
        .step(Step(name, .expire, Conditions(ifMatch: .oneOf([revision]))))
    }

    /// Removes expired properties, but not those that have another revision by now.
    ///
    /// A change of one of them is refused if it removes nothing, and one of several has no effect.
    static func expire(_ properties: [(name: PropertyName, revision: Revision)]) -> Change {
        if properties.count == 1 {
            return expire(properties[0].name, at: properties[0].revision)
        }
        return .transaction(
            Transaction(
                properties.map { name, revision in
                    Step(name, .expire, Conditions(ifMatch: .oneOf([revision])))
                }
            )
        )
    }

    /// Removes a property to make room, unless it has another revision by now.
    static func evict(_ property: Property) -> Change {
        let conditions = Conditions(ifMatch: .oneOf([property.revision]))
        return .step(Step(PropertyName(of: property), .evict, conditions))
    }
}

extension Change {
    /// One step of a change.
    package struct Step: Sendable {
        package let name: PropertyName
        package let action: Action
        /// How long the property lives from the commit on.
        ///
        /// Without one, a put makes a property that never expires, and the other actions keep the
        /// time that it has.
        package let ttl: TimeToLive?
        /// Whether a property that exists keeps the time that it has, in spite of ``ttl``.
        package let isOnlyIfNew: Bool
        package let conditions: Conditions

        package init(
            _ name: PropertyName,
            _ action: Action,
            ttl: TimeToLive? = nil,
            isOnlyIfNew: Bool = false,
            _ conditions: Conditions = .none
        ) {
            self.name = name
            self.action = action
            self.ttl = ttl
            self.isOnlyIfNew = isOnlyIfNew
            self.conditions = conditions
        }
    }

    /// The action of a step.
    ///
    /// SAFETY: `@safe` and `@unchecked Sendable` because the bytes are only read, and the owner of
    /// the step's name keeps them in place, or the maker of the change does.
    @safe
    package enum Action: @unchecked Sendable {
        /// Nothing: the property is only read.
        case get
        /// Creates or replaces the property, whose value is these bytes of a JSON text.
        case put(UnsafeRawBufferPointer)
        /// Removes the property.
        ///
        /// If there is none, a change of one step is refused, and a transaction goes on.
        case delete
        case increment(by: Int64)
        /// Applies this JSON merge patch.
        case merge(UnsafeRawBufferPointer)
        /// Removes the property if it has expired.
        case expire
        /// Removes the property to make room.
        case evict
        /// Starts the time to live again. There is no event, and the revision stays.
        case touch
        /// Removes the first property whose name begins with the step's name, or claims it.
        ///
        /// This action and the following two are steps of transactions only.
        case pop(Claim?)
        /// Removes all properties whose names begin with the step's name.
        ///
        /// At most `countMax`. If there are more, the step is refused if `isWhole`; else the rest
        /// stays.
        case deletePrefix(countMax: Int, isWhole: Bool)
        /// Counts the properties whose names begin with the step's name.
        case count

        /// The bytes of a value or a patch.
        package var content: UnsafeRawBufferPointer? {
            switch self {
            case .put(let bytes), .merge(let bytes): unsafe bytes
            case .get, .delete, .increment, .expire, .evict, .touch, .pop, .deletePrefix, .count:
                nil
            }
        }

        /// Whether the step changes what is stored.
        package var writes: Bool {
            switch self {
            case .get, .count: false
            case .put, .delete, .increment, .merge, .expire, .evict, .touch, .pop, .deletePrefix:
                true
            }
        }

        /// Whether the result of the step shows what is stored: a value, or how many there are.
        package var reads: Bool {
            if case .count = self { true } else { showsValue }
        }

        /// Whether the step gives a property another time, and leaves its value.
        package var touches: Bool { if case .touch = self { true } else { false } }

        /// Whether the result of the step has a value.
        var showsValue: Bool {
            switch self {
            case .get, .increment, .merge, .pop: true
            case .put, .delete, .expire, .evict, .touch, .deletePrefix, .count: false
            }
        }

        /// Whether the step's name is a prefix of other names.
        package var takesPrefix: Bool {
            switch self {
            case .pop, .deletePrefix, .count: true
            case .get, .put, .delete, .increment, .merge, .expire, .evict, .touch: false
            }
        }
    }

    /// A claim of a pop: it hides a property from other pops of the same prefix.
    ///
    /// It is a property, too. Its name is ``prefix`` and the rest of the hidden one's name.
    package final class Claim: Sendable {
        /// Owns its bytes.
        package let prefix: PropertyName
        /// A JSON text.
        package let value: OwnedBytes

        package init(_ prefix: PropertyName, value: UnsafeRawBufferPointer) {
            self.prefix = prefix.copy()
            self.value = unsafe OwnedBytes(copying: value)
        }

        /// Whether one of the prefixes begins with the other: then a claim could be claimed itself.
        package func isMixed(with other: PropertyName) -> Bool {
            unsafe prefix.bytes.begins(with: other.bytes) || other.bytes.begins(with: prefix.bytes)
        }
    }

    /// All steps that can be made: of a transaction, those of both branches.
    package var steps: [Step] {
        switch self {
        case .step(let step): [step]
        case .transaction(let transaction): transaction.steps + transaction.otherwise
        }
    }
}

extension Change.Step {
    /// The same step under other conditions, in memory of its own.
    package func copy(_ conditions: Conditions) -> Self {
        guard let content = unsafe action.content else {
            return Self(name.copy(), action, ttl: ttl, isOnlyIfNew: isOnlyIfNew, conditions)
        }
        let owner = unsafe OwnedBytes(copying: name.bytes, content)
        let copy = unsafe UnsafeRawBufferPointer(rebasing: owner.bytes[name.bytes.count...])
        let action: Change.Action =
            if case .put = action { unsafe .put(copy) } else { unsafe .merge(copy) }
        return Self(
            PropertyName(name, in: owner),
            action,
            ttl: ttl,
            isOnlyIfNew: isOnlyIfNew,
            conditions
        )
    }
}
