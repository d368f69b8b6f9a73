// Transactions as JSON: what clients send, and what they are answered.

/// A JSON text that is not a transaction or not a step.
package struct InvalidTransaction: Error, Hashable {
    /// A sentence that says what is wrong and where.
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
    private static let memberNames: [StaticString] = ["name", "revision", "exists", "equals"]

    /// Reads a name and one test, such as `{"name":"a","revision":7}`.
    fileprivate init(_ json: inout JSONCursor) throws(InvalidTransaction) {
        var members = JSONMembers()
        try json.read(Self.memberNames, "A condition", into: &members)
        guard let name = members[0], members.places.nonzeroBitCount == 2 else {
            throw InvalidTransaction(
                "A condition has a name and one of revision, exists and equals."
            )
        }
        let test: Transaction.Test
        if let revision = members[1] {
            guard let number = revision.integer, number >= 0 else {
                throw InvalidTransaction("revision must be a whole number, 0 for no property.")
            }
            test = .revision(Revision(number))
        } else if let exists = members[2] {
            guard let exists = exists.boolean else {
                throw InvalidTransaction("exists must be true or false.")
            }
            test = .exists(exists)
        } else if let value = members[3] {
            test = unsafe .equals(value.bytes)
        } else {
            preconditionFailure("One of the tests is there.")
        }
        self.init(try PropertyName(member: name), test)
    }
}

extension Change.Step {
    /// The kinds of steps, and then what belongs to them.
    private static let memberNames: [StaticString] = [
        "put", "merge", "increment", "delete", "get", "value", "patch", "by", "ttl",
    ]
    private static let kindCount = 5
    /// The places of the kinds.
    private static let kinds: UInt16 = (1 << 5) - 1
    private static let ttlIndex = 8

    /// Reads a step, such as `{"put":"a","value":1,"ttl":60}` or `{"get":"a"}`.
    ///
    /// - Parameters:
    ///   - json: The step, whose bytes it borrows.
    ///   - previous: The value of a put, or the patch of a merge, that names none.
    /// - Throws: ``InvalidTransaction`` for what is not a step.
    package init(
        _ json: JSONView,
        previous: JSONView? = nil
    ) throws(InvalidTransaction) {
        var cursor = JSONCursor(json)
        try self.init(&cursor, previous: previous)
    }

    /// Reads the step at the cursor.
    fileprivate init(
        _ json: inout JSONCursor,
        previous: JSONView? = nil
    ) throws(InvalidTransaction) {
        let names = Self.memberNames
        var members = JSONMembers()
        try json.read(names, "A step", into: &members)
        let kind = members.places.trailingZeroBitCount
        guard (members.places & Self.kinds).nonzeroBitCount == 1, let name = members[kind] else {
            throw InvalidTransaction(
                "A step has one of put, merge, increment, delete and get, with a name."
            )
        }
        // The first three kinds have one member each for what they write, and a time to live.
        let allowed: UInt16 = kind < 3 ? 1 << (Self.kindCount + kind) | 1 << Self.ttlIndex : 0
        let others = members.places & ~Self.kinds & ~allowed
        guard others == 0 else {
            let other = names[others.trailingZeroBitCount]
            throw InvalidTransaction("\(names[kind]) has no member \(other).")
        }
        var ttl: TimeToLive?
        if let seconds = members[Self.ttlIndex] {
            ttl = TimeToLiveText.milliseconds(seconds)
            guard ttl != nil else {
                throw InvalidTransaction("ttl \(TimeToLiveText.rule).")
            }
        }
        self.init(
            try PropertyName(member: name),
            try Self.action(kind, members[Self.kindCount + kind], previous),
            ttl: ttl
        )
    }

    private static func action(
        _ kind: Int,
        _ content: JSONView?,
        _ previous: JSONView?
    ) throws(InvalidTransaction) -> Change.Action {
        switch kind {
        case 0:
            guard let value = content ?? previous else {
                throw InvalidTransaction("put needs a value.")
            }
            return unsafe .put(value.bytes)
        case 1:
            guard let patch = content ?? previous else {
                throw InvalidTransaction("merge needs a patch.")
            }
            return unsafe .merge(patch.bytes)
        case 2:
            guard let by = content else {
                return .increment(by: 1)
            }
            guard let number = by.integer else {
                throw InvalidTransaction("by must be a 64-bit integer.")
            }
            return .increment(by: number)
        case 3: return .delete
        default: return .get
        }
    }
}

extension PropertyName {
    fileprivate init(member name: JSONView) throws(InvalidTransaction) {
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
    /// What is wrong with the name.
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

    /// The place of the name of a member in the list of those that the object can have.
    fileprivate func place(
        in names: [StaticString],
        _ subject: String
    ) throws(InvalidTransaction) -> Int {
        if let place = place(in: names) {
            return place
        }
        let list = names.map { "\($0)" }.joined(separator: ", ")
        throw InvalidTransaction("\(subject) has only the members \(list).")
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
    /// Into a place, because the members are long to copy.
    fileprivate mutating func read(
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

extension JSONWriter {
    /// Writes what a transaction did.
    ///
    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - commit: The commit, which has an outcome.
    package mutating func transaction(_ transaction: Transaction, _ commit: Commit) {
        guard let outcome = commit.outcome else {
            preconditionFailure("The commit of a transaction has an outcome.")
        }
        let steps = outcome.succeeded ? transaction.steps : transaction.otherwise
        reserve(64 + 128 * steps.count)
        opening { piece in
            piece.raw(outcome.succeeded ? "{\"succeeded\":true" : "{\"succeeded\":false")
            piece.raw(",\"revision\":")
            piece.integer(commit.revision)
            piece.raw(",\"results\":[")
        }
        for index in steps.indices {
            unsafe result(
                of: steps[index].name.bytes,
                outcome.results[index],
                showsValue: steps[index].action.showsValue,
                at: commit.time
            )
        }
        end("]}")
    }

    /// Writes what a step did, the brackets in one piece with the members.
    private mutating func result(
        of name: UnsafeRawBufferPointer,
        _ result: Transaction.Result,
        showsValue: Bool,
        at time: Timestamp
    ) {
        let isShort = unsafe Self.fitsIntoPiece(name)
        let isDone = result.property == nil || (result.expiry == .never && !showsValue)
        if !isShort {
            opening { $0.raw("{") }
            unsafe member("name", utf8: name)
        }
        members { piece in
            if isShort {
                piece.raw("{\"name\":")
                unsafe piece.string(name)
                piece.raw(",")
            }
            piece.raw("\"revision\":")
            piece.integer(result.revision)
            if result.property != nil && result.created > 0 {
                piece.raw(",\"created\":")
                piece.integer(result.created)
            }
            if isDone {
                piece.raw("}")
            }
        }
        guard !isDone, let property = result.property else {
            return
        }
        ttl(until: result.expiry, at: time)
        if showsValue {
            member("value", valueOf: property)
        }
        end("}")
    }
}
