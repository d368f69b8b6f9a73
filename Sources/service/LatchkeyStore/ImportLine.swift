package import LatchkeyJSON

/// One line of an import: `{"name":…,"value":…,"ttl":…}`, or the last one of an export,
/// `{"end":true,"count":…,"revision":…}`.
///
/// It borrows the line, as ``JSONView`` does. The members `revision` and `created`, which an
/// export writes, are skipped.
package enum ImportLine: Sendable {
    /// A property to put. The name is a string.
    case property(name: JSONView, value: JSONView, ttl: JSONView?)
    /// The lines are complete: `count` properties came before.
    case end(count: Int64)

    /// Reads a line that is valid JSON.
    package init(_ line: JSONView) throws(InvalidImportLine) {
        guard line.kind == .object else {
            throw .notAnObject
        }
        var members = JSONMembers()
        for (name, value) in line.members {
            guard let place = name.place(in: Self.memberNames) else {
                throw .unknownMember
            }
            guard !members.has(place) else {
                throw .repeatedMember
            }
            members.set(value, at: place)
        }
        guard let end = members[3] else {
            self = try Self.property(members)
            return
        }
        guard end.boolean == true, let count = members[4]?.integer, count >= 0,
            members.places & Self.ofProperties == 0
        else {
            throw .badEnd
        }
        self = .end(count: count)
    }

    /// The members of a property, of the last line, and of both.
    private static let memberNames: [StaticString] = [
        "name", "value", "ttl", "end", "count", "created", "revision",
    ]
    /// The places of the members that the last line cannot have.
    private static let ofProperties: UInt16 = 0b010_0111

    private static func property(_ members: JSONMembers) throws(InvalidImportLine) -> ImportLine {
        guard !members.has(4) else {
            throw .unknownMember
        }
        guard let name = members[0], name.kind == .string else {
            throw .noName
        }
        guard let value = members[1] else {
            throw .noValue
        }
        return .property(name: name, value: value, ttl: members[2])
    }
}

/// The meaning of a line of an import.
package enum ImportEntry: Sendable {
    /// A put.
    ///
    /// It borrows the line.
    case put(Change.Step)
    /// The end, after `count` properties.
    case end(count: Int64)

    /// Reads a line.
    ///
    /// The owner keeps the line in place, if the caller does not.
    package init(
        _ line: UnsafeRawBufferPointer,
        depthMax: Int,
        owner: AnyObject? = nil
    ) throws(InvalidImportLine) {
        do {
            try unsafe JSONText.check(line, depthMax: depthMax)
        } catch {
            throw .json(error)
        }
        try unsafe self.init(JSONView(line), owner: owner)
    }

    /// The same for a line that is known to be valid JSON.
    package init(_ line: JSONView, owner: AnyObject? = nil) throws(InvalidImportLine) {
        switch try ImportLine(line) {
        case .property(let text, let value, let number):
            let name: PropertyName
            do {
                name = try PropertyName(text, owner: owner)
            } catch {
                throw .name(error)
            }
            let ttl = try number.map { (number) throws(InvalidImportLine) in
                guard let ttl = TimeToLiveText.milliseconds(number) else {
                    throw .timeToLive
                }
                return ttl
            }
            self = unsafe .put(Change.Step(name, .put(value.bytes), ttl: ttl))
        case .end(let count):
            self = .end(count: count)
        }
    }
}

/// The puts of an import's lines, one after the other.
package struct ImportSteps: Sendable {
    /// The puts since the last ``next()``.
    package private(set) var steps: [Change.Step] = []
    /// How many properties came before.
    package private(set) var count = 0
    /// Whether the line of the end was read; no line can follow it.
    package private(set) var isWhole = false
    /// Whether the lines are a part of an export, in which ends are skipped.
    private let isPartial: Bool

    package init(isPartial: Bool) {
        self.isPartial = isPartial
    }

    /// Adds the meaning of a line.
    package mutating func add(
        _ entry: @autoclosure () throws(InvalidImportLine) -> ImportEntry
    ) throws(InvalidImportLine) {
        guard !isWhole else {
            throw .behindEnd
        }
        switch try entry() {
        case .put(let step):
            steps.append(step)
            count += 1
        case .end where isPartial:
            break
        case .end(let number):
            guard number == count else {
                throw .badCount(number, before: count)
            }
            isWhole = true
        }
    }

    /// Ends a batch, and returns its puts.
    package mutating func next() -> [Change.Step] {
        defer { steps = [] }
        return steps
    }
}

/// The reason why a text is not a line of an import.
package enum InvalidImportLine: Error, Hashable {
    case json(InvalidJSON)
    case name(InvalidName)
    /// `ttl` is out of range.
    case timeToLive
    case notAnObject
    /// There is no `name`, or it is not a string.
    case noName
    case noValue
    case unknownMember
    case repeatedMember
    /// There is `end`, but the line is not the last one of an export.
    case badEnd
    /// The count of the end is not the number of properties before it.
    case badCount(Int64, before: Int)
    /// The line comes after the end.
    case behindEnd
}

extension InvalidImportLine {
    /// A description of the error.
    package var detail: String {
        switch self {
        case .json(.malformed(let offset)): "The JSON is not valid after \(offset) bytes."
        case .json(.notUTF8(let offset)): "The line is not UTF-8 after \(offset) bytes."
        case .json(.tooDeep): "Arrays and objects are nested too deeply."
        case .name(let error): error.detail
        case .timeToLive: "ttl \(TimeToLiveText.rule)."
        case .notAnObject: "The line is not an object."
        case .noName: "There is no member name that is a string."
        case .noValue: "There is no member value."
        case .unknownMember: "The members are name, value, ttl, revision and created."
        case .repeatedMember: "A member comes twice."
        case .badEnd: "The members of the last line are \"end\":true, count, and maybe revision."
        case .badCount(let count, let before):
            "The last line counts \(count) properties; \(before) came before it."
        case .behindEnd: "Nothing can follow the line that says \"end\":true."
        }
    }
}
