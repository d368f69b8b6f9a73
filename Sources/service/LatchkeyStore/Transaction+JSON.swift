// Transactions as JSON, as clients send them.

package import LatchkeyJSON
internal import LatchkeySettings

/// A JSON text that is not a transaction or not a step.
package struct InvalidTransaction: Error, Hashable {
    /// A message that describes the error and its place.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}

extension Transaction {
    private static let memberNames: [StaticString] = ["if", "then", "else"]
    private static let subject = "A transaction"

    /// Reads `{"if":[…],"then":[…],"else":[…]}`, whose members may be left out.
    ///
    /// Names and values borrow the text.
    package init(_ json: JSONView) throws(InvalidTransaction) {
        var conditions: [Condition]?
        var steps: [Change.Step]?
        var otherwise: [Change.Step]?
        var cursor = JSONCursor(json)
        try cursor.enterObject(Self.subject)
        while let name = cursor.nextName() {
            switch try name.place(in: Self.memberNames, Self.subject) {
            case 0:
                try cursor.read("if", &conditions) { (cursor) throws(InvalidTransaction) in
                    try Condition(&cursor)
                }
            case 1:
                try cursor.read("then", &steps) { (cursor) throws(InvalidTransaction) in
                    try Change.Step(&cursor)
                }
            default:
                try cursor.read("else", &otherwise) { (cursor) throws(InvalidTransaction) in
                    try Change.Step(&cursor)
                }
            }
        }
        self.init(if: conditions ?? [], steps ?? [], else: otherwise ?? [])
    }
}

extension JSONCursor {
    /// Reads a list of a transaction, which comes once.
    fileprivate mutating func read<Element>(
        _ name: String,
        _ result: inout [Element]?,
        _ element: (inout JSONCursor) throws(InvalidTransaction) -> Element
    ) throws(InvalidTransaction) {
        guard result == nil else {
            throw InvalidTransaction("A transaction has the member \(name) twice.")
        }
        guard kind == .array else {
            throw InvalidTransaction("\(name) must be an array.")
        }
        enter()
        var list: [Element] = []
        while nextElement() {
            guard list.count < Change.stepCountMax else {
                throw InvalidTransaction("\(name) can have at most \(Change.stepCountMax) items.")
            }
            if list.isEmpty {
                list.reserveCapacity(4)
            }
            do throws(InvalidTransaction) {
                list.append(try element(&self))
            } catch {
                throw InvalidTransaction("Item \(list.count + 1) of \(name): \(error.message)")
            }
        }
        result = list
    }
}

extension Transaction.Condition {
    private static let memberNames: [StaticString] = [
        "name", "revision", "exists", "equals", "absent", "<", "<=", ">", ">=", "!=",
    ]
    private static let absentIndex = 4
    /// The place of the first relation; they are in the order of their cases.
    private static let relationIndex = 5

    /// Reads a name and one test, such as `{"name":"a","revision":7}`.
    fileprivate init(_ json: inout JSONCursor) throws(InvalidTransaction) {
        var members = JSONMembers()
        try json.read(Self.memberNames, "A condition", into: &members)
        guard let name = members[0], members.places.nonzeroBitCount == 2 else {
            throw InvalidTransaction(
                "A condition has a name and one of revision, exists, absent, equals, <, <=, >, >= "
                    + "and !=."
            )
        }
        let test: Transaction.Test
        if let revision = members[1] {
            guard let number = revision.integer, number >= 0 else {
                throw InvalidTransaction("revision must be a whole number, 0 for no property.")
            }
            test = .revision(Revision(number))
        } else if let exists = members[2] {
            test = .exists(try exists.flag("exists"))
        } else if let value = members[3] {
            test = unsafe .equals(value.bytes)
        } else if let absent = members[Self.absentIndex] {
            test = .exists(!(try absent.flag("absent")))
        } else {
            test = Self.relation(members)
        }
        self.init(try PropertyName(member: name), test)
    }

    private static func relation(_ members: JSONMembers) -> Transaction.Test {
        for relation in JSONOrder.Relation.allCases {
            if let value = members[relationIndex + Int(relation.rawValue)] {
                return unsafe .compares(relation, value.bytes)
            }
        }
        preconditionFailure("One of the tests is there.")
    }
}

extension JSONView {
    fileprivate func flag(_ name: String) throws(InvalidTransaction) -> Bool {
        guard let flag = boolean else {
            throw InvalidTransaction("\(name) must be true or false.")
        }
        return flag
    }
}

extension PropertyName {
    init(member name: JSONView) throws(InvalidTransaction) {
        guard name.kind == .string else {
            throw InvalidTransaction("The name of a property must be a string.")
        }
        do {
            try self.init(name)
        } catch {
            throw InvalidTransaction(error.detail)
        }
    }
}

extension InvalidName {
    /// A description of the error.
    package var detail: String {
        switch self {
        case .empty: "The name is empty."
        case .tooLong: "The name has more than \(PropertyName.byteCountMax) bytes."
        case .notUTF8: "The name is not UTF-8."
        case .controlCharacter: "The name has a control character."
        }
    }
}

extension JSONView {
    /// The members of an object that has only these, each at most once.
    ///
    /// - Returns: for each name its value, or nil.
    package func members(
        of names: [StaticString],
        _ subject: String
    ) throws(InvalidTransaction) -> JSONMembers {
        var cursor = JSONCursor(self)
        var members = JSONMembers()
        try cursor.read(names, subject, into: &members)
        return members
    }

    /// The place of a string in a list of them.
    func place(in names: [StaticString]) -> Int? {
        let content = unsafe stringContent
        for index in names.indices where unsafe content.equals(names[index]) {
            return index
        }
        return hasEscapes ? names.firstIndex { isString($0) } : nil
    }

    /// The message that a member's name is not known, with the known names.
    package func correction(among names: [StaticString], _ noun: String) -> String {
        // A long name is not copied.
        let text = unsafe bytes.count <= Self.nameByteCountMax ? string ?? "" : ""
        return Suggestion.correction(of: text, among: names.map { "\($0)" }, noun)
    }

    private static let nameByteCountMax = 256

    /// The place of the name of a member in the list of those that the object can have.
    fileprivate func place(
        in names: [StaticString],
        _ subject: String
    ) throws(InvalidTransaction) -> Int {
        if let place = place(in: names) {
            return place
        }
        throw InvalidTransaction(
            correction(among: names, "A member of \(subject.lowercased())")
        )
    }
}

extension JSONCursor {
    fileprivate mutating func enterObject(
        _ subject: String
    ) throws(InvalidTransaction) {
        guard kind == .object else {
            throw InvalidTransaction("\(subject) must be an object.")
        }
        enter()
    }

    /// Reads the members of the object at the cursor, which has only these, each at most once.
    ///
    /// The result is `inout`, because the members are long to copy.
    mutating func read(
        _ names: [StaticString],
        _ subject: String,
        into members: inout JSONMembers
    ) throws(InvalidTransaction) {
        precondition(names.count <= JSONMembers.countMax, "The names fit into JSONMembers.")
        try enterObject(subject)
        while let name = nextName() {
            let place = try name.place(in: names, subject)
            guard !members.has(place) else {
                throw InvalidTransaction("\(subject) has the member \(names[place]) twice.")
            }
            members.set(value(), at: place)
        }
    }
}
