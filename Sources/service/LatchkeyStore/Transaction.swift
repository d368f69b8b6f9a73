package import LatchkeyJSON

/// A change of several properties that is made as a whole, at one revision.
///
/// First the conditions are checked against the properties as they were. If all hold, `steps` are
/// made, else `otherwise`. The steps are made in their order, each on the result of those before
/// it.
package struct Transaction: Sendable {
    /// The limit on all values of the results, counted in values of the greatest length.
    static let valuesMax = 16

    package let conditions: [Condition]
    /// The steps that are made if all conditions hold.
    package let steps: [Change.Step]
    /// The steps that are made if one of the conditions does not hold.
    package let otherwise: [Change.Step]
    /// Whether the transaction is refused with ``Refusal/notYet`` if one of the conditions does not
    /// hold, or a pop finds nothing.
    package var waits = false

    package init(
        if conditions: [Condition] = [],
        _ steps: [Change.Step],
        else otherwise: [Change.Step] = []
    ) {
        self.conditions = conditions
        self.steps = steps
        self.otherwise = otherwise
    }

    /// The properties that the answer shows: names, or prefixes of names.
    package var shown: [PropertyName] {
        conditions.map(\.name)
            + (steps + otherwise).filter { $0.action.reads }.map(\.name)
    }

    /// Whether it removes expired properties, which no client asks for.
    var isExpiry: Bool {
        if case .expire? = steps.first?.action { true } else { false }
    }

    /// Whether a step takes names that are not known before it is made.
    var takesPrefixes: Bool {
        steps.contains { $0.action.takesPrefix } || otherwise.contains { $0.action.takesPrefix }
    }

    /// The steps that are made.
    package enum Branch: String, Sendable {
        /// The steps if all conditions hold.
        case then
        case otherwise = "else"
    }

    /// A condition on one property.
    package struct Condition: Sendable {
        package let name: PropertyName
        package let test: Test

        package init(_ name: PropertyName, _ test: Test) {
            self.name = name
            self.test = test
        }
    }

    /// The test of a condition.
    ///
    /// SAFETY: `@safe` and `@unchecked Sendable` as ``Change/Action``.
    @safe
    package enum Test: @unchecked Sendable {
        /// Whether the property has this revision; 0 if it must not exist.
        case revision(Revision)
        case exists(Bool)
        /// Whether the value is equal to this JSON text: the order of members, white space, and the
        /// spelling of strings and numbers do not matter.
        case equals(UnsafeRawBufferPointer)
        /// How the value compares with this JSON text: see ``JSONOrder``.
        case compares(JSONOrder.Relation, UnsafeRawBufferPointer)
    }

    /// The outcome of a transaction, step by step.
    package struct Outcome: Sendable {
        /// Whether the conditions held.
        package let succeeded: Bool
        /// For each step of the branch that was taken, the property after it.
        package let results: [Result]
    }

    /// The result of a step: the property after it, the one that a pop has taken, or the number
    /// that it has counted or deleted.
    package struct Result: Sendable {
        /// The property with the value; nil if there is none.
        package let property: Property?
        /// How many properties a step has counted or deleted.
        package private(set) var count = 0
        /// Whether it has left some.
        package private(set) var hasMore = false
        /// Its revision; 0 if there is none, or if the property was in no revision.
        package private(set) var revision: Revision
        /// 0 if the property was in no revision.
        package private(set) var created: Revision
        package let expiry: Timestamp

        /// Stands for the revision of the commit, which is taken after the last step.
        private static let pending = Revision.max

        /// A nil revision stands for that of the commit.
        init(
            _ property: Property?,
            revision: Revision?,
            created: Revision?,
            expiry: Timestamp
        ) {
            self.property = property
            self.revision = revision ?? Self.pending
            self.created = created ?? Self.pending
            self.expiry = expiry
        }

        init(
            _ property: Property? = nil,
            revision: Revision = 0,
            created: Revision = 0,
            expiry: Timestamp = .never,
            count: Int,
            hasMore: Bool = false
        ) {
            self.init(property, revision: revision, created: created, expiry: expiry)
            self.count = count
            self.hasMore = hasMore
        }

        /// Sets the revision of the commit; 0 if it took none.
        mutating func settle(_ commit: Revision) {
            if revision == Self.pending {
                revision = commit
            }
            if created == Self.pending {
                created = commit
            }
        }
    }
}
