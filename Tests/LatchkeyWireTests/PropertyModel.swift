import LatchkeyTestSupport

/// A model of the service for requests that come one after the other, revisions included.
///
/// All values are integers.
struct PropertyModel: SequentialModel {
    struct Property: Hashable {
        var value: Int
        var revision: Int
        var created: Int
    }

    /// A step of a transaction.
    enum Step: Hashable {
        case put(String, Int)
        case delete(String)
        case increment(String)
        case get(String)
    }

    enum Request: Hashable {
        case get(String)
        case list
        /// The revision that the property must have, 0 if it must not exist.
        case put(String, Int, ifRevision: Int?)
        case increment(String)
        case delete(String)
        /// The revision that the property must have for the first steps.
        case transaction(String, revision: Int, then: [Step], otherwise: [Step])
    }

    /// The facts in an answer, of all properties that it is about.
    struct Answer: Hashable {
        var status: Int
        var revision: Int?
        var found: [Property?] = []
    }

    struct Operation: Hashable, CustomStringConvertible {
        let request: Request
        var answer: Answer

        var description: String { "\(request) was answered \(answer)" }
    }

    static let names = ["a", "b", "c"]

    private(set) var revision = 0
    private(set) var properties: [String: Property] = [:]

    func after(_ operation: Operation) -> Self? {
        var next = self
        return next.run(operation.request) == operation.answer ? next : nil
    }

    private mutating func run(_ request: Request) -> Answer {
        switch request {
        case .get(let name):
            guard let property = properties[name] else {
                return Answer(status: 404)
            }
            return Answer(status: 200, revision: property.revision, found: [property.asRead])
        case .list:
            return Answer(status: 200, revision: revision, found: Self.names.map { properties[$0] })
        case .put(let name, let value, let expected):
            guard expected == nil || expected == properties[name]?.revision ?? 0 else {
                return Answer(status: 412)
            }
            let exists = properties[name] != nil
            commit { $0.put(name, value) }
            return Answer(status: exists ? 204 : 201, revision: revision)
        case .increment(let name):
            commit { $0.put(name, ($0.properties[name]?.value ?? 0) + 1) }
            return Answer(status: 200, revision: revision, found: [properties[name]?.asRead])
        case .delete(let name):
            guard properties[name] != nil else {
                return Answer(status: 404)
            }
            commit { $0.properties[name] = nil }
            return Answer(status: 204)
        case .transaction(let name, let expected, let then, let otherwise):
            let succeeds = properties[name]?.revision ?? 0 == expected
            let found = run(succeeds ? then : otherwise)
            // The status tells the branches apart, as a member of the real answer does.
            return Answer(status: succeeds ? 200 : -200, revision: revision, found: found)
        }
    }

    /// Makes the steps at one revision, and none if they change nothing.
    private mutating func run(_ steps: [Step]) -> [Property?] {
        var found: [Property?] = []
        let former = properties
        commit { model in
            for step in steps {
                switch step {
                case .put(let name, let value):
                    model.put(name, value)
                    found.append(model.properties[name]?.withoutValue)
                case .increment(let name):
                    model.put(name, (model.properties[name]?.value ?? 0) + 1)
                    found.append(model.properties[name])
                case .delete(let name):
                    model.properties[name] = nil
                    found.append(nil)
                case .get(let name):
                    found.append(model.properties[name])
                }
            }
        }
        if properties == former {
            revision -= 1
        }
        return found
    }

    private mutating func commit(_ change: (inout Self) -> Void) {
        revision += 1
        change(&self)
    }

    private mutating func put(_ name: String, _ value: Int) {
        let created = properties[name]?.created ?? revision
        properties[name] = Property(value: value, revision: revision, created: created)
    }
}

extension PropertyModel.Property {
    /// The property as an answer has it that does not say when it came into being.
    var asRead: Self { Self(value: value, revision: revision, created: 0) }

    /// The property as the answer to a put has it.
    var withoutValue: Self { Self(value: 0, revision: revision, created: created) }
}
