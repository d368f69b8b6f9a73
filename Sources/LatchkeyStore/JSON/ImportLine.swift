/// One line of an import: `{"name":…,"value":…,"ttl":…}`, or the last one of an export,
/// `{"end":true,"count":…,"revision":…}`.
///
/// It borrows the line, as ``JSONView`` does. The members `revision` and `created`, which an
/// export writes, are skipped.
package enum ImportLine: Sendable {
    /// A property to put. The name is a string.
    case property(name: JSONView, value: JSONView, ttl: JSONView?)
    /// The lines are whole: so many properties came before.
    case end(count: Int64)

    /// Reads a line that is valid JSON.
    package init(_ line: JSONView) throws(InvalidImportLine) {
        guard line.kind == .object else {
            throw .notAnObject
        }
        var members = Members()
        for member in line.members {
            try members.add(member.name, member.value)
        }
        self = try members.end == nil ? members.property() : members.lastLine()
    }

    /// The members of a line, each of which comes once at most.
    private struct Members {
        var name: JSONView?
        var value: JSONView?
        var ttl: JSONView?
        var revision: JSONView?
        var created: JSONView?
        var end: JSONView?
        var count: JSONView?

        mutating func add(_ name: JSONView, _ value: JSONView) throws(InvalidImportLine) {
            if name.isString("name") {
                try Self.set(&self.name, value)
            } else if name.isString("value") {
                try Self.set(&self.value, value)
            } else if name.isString("ttl") {
                try Self.set(&ttl, value)
            } else if name.isString("revision") {
                try Self.set(&revision, value)
            } else if name.isString("created") {
                try Self.set(&created, value)
            } else if name.isString("end") {
                try Self.set(&end, value)
            } else if name.isString("count") {
                try Self.set(&count, value)
            } else {
                throw .unknownMember
            }
        }

        private static func set(
            _ member: inout JSONView?,
            _ value: JSONView
        ) throws(InvalidImportLine) {
            guard member == nil else {
                throw .repeatedMember
            }
            member = value
        }

        func property() throws(InvalidImportLine) -> ImportLine {
            guard count == nil else {
                throw .unknownMember
            }
            guard let name, name.kind == .string else {
                throw .noName
            }
            guard let value else {
                throw .noValue
            }
            return .property(name: name, value: value, ttl: ttl)
        }

        func lastLine() throws(InvalidImportLine) -> ImportLine {
            guard end?.boolean == true, let count = count?.integer, count >= 0, name == nil,
                value == nil, ttl == nil, created == nil
            else {
                throw .badEnd
            }
            return .end(count: count)
        }
    }
}

/// What a line of an import stands for.
package enum ImportEntry: Sendable {
    /// A put.
    ///
    /// It borrows the line.
    case put(Change.Step)
    /// The end, behind so many properties.
    case end(count: Int64)

    /// Reads a line.
    ///
    /// The owner is what keeps the line in place, if the caller does not.
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

    /// The same of a line that is known to be valid JSON.
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

/// Why a text is no line of an import.
package enum InvalidImportLine: Error, Hashable {
    case json(InvalidJSON)
    case name(InvalidName)
    /// `ttl` is out of bounds.
    case timeToLive
    case notAnObject
    /// There is no `name`, or it is no string.
    case noName
    case noValue
    case unknownMember
    case repeatedMember
    /// There is `end`, but the line is not the last one of an export.
    case badEnd
    /// The end counts other properties than those that came before it.
    case badCount
    /// The line comes behind the end.
    case behindEnd
}

extension InvalidImportLine {
    /// What is wrong with the line.
    package var detail: String {
        switch self {
        case .json(.malformed(let offset)): "The JSON is not valid after \(offset) bytes."
        case .json(.notUTF8(let offset)): "The line is not UTF-8 after \(offset) bytes."
        case .json(.tooDeep): "Arrays and objects are nested too deeply."
        case .json(.outOfMemory): "There is no memory for the line."
        case .name(let error): error.detail
        case .timeToLive: "ttl \(TimeToLiveText.rule)."
        case .notAnObject: "The line is not an object."
        case .noName: "There is no member name that is a string."
        case .noValue: "There is no member value."
        case .unknownMember: "The members are name, value, ttl, revision and created."
        case .repeatedMember: "A member comes twice."
        case .badEnd: "The members of the last line are \"end\":true, count, and maybe revision."
        case .badCount: "The last line counts other properties than those before it."
        case .behindEnd: "Nothing can follow the line that says \"end\":true."
        }
    }
}
