/// One line of an import: `{"name":…,"value":…,"ttl":…}`.
///
/// It borrows the line, as ``JSONView`` does. The members `revision` and `created`, which an
/// export writes, are skipped. Of members with the same name, the last one counts.
package struct ImportLine: Sendable {
    /// The name, a string.
    package let name: JSONView
    package let value: JSONView
    package let ttl: JSONView?

    /// Reads a line that is valid JSON.
    package init(_ line: JSONView) throws(InvalidImportLine) {
        guard line.kind == .object else {
            throw .notAnObject
        }
        var name: JSONView?
        var value: JSONView?
        var ttl: JSONView?
        for member in line.members {
            if member.name.isString("name") {
                name = member.value
            } else if member.name.isString("value") {
                value = member.value
            } else if member.name.isString("ttl") {
                ttl = member.value
            } else if !member.name.isString("revision"), !member.name.isString("created") {
                throw .unknownMember
            }
        }
        guard let name, name.kind == .string else {
            throw .noName
        }
        guard let value else {
            throw .noValue
        }
        self.name = name
        self.value = value
        self.ttl = ttl
    }
}

extension ImportLine {
    /// The step that a line of an import stands for.
    ///
    /// It borrows the line. The owner is what keeps the line in place, if the caller does not.
    package static func step(
        _ line: UnsafeRawBufferPointer,
        depthMax: Int,
        owner: AnyObject? = nil
    ) throws(InvalidImportLine) -> Change.Step {
        do {
            try unsafe JSONText.check(line, depthMax: depthMax)
        } catch {
            throw .json(error)
        }
        return try unsafe step(JSONView(line), owner: owner)
    }

    /// The same of a line that is known to be valid JSON.
    package static func step(
        _ line: JSONView,
        owner: AnyObject? = nil
    ) throws(InvalidImportLine) -> Change.Step {
        let parts = try ImportLine(line)
        let name: PropertyName
        do {
            name = try PropertyName(parts.name, owner: owner)
        } catch {
            throw .name(error)
        }
        let ttl = try parts.ttl.map { (number) throws(InvalidImportLine) in
            guard let ttl = TimeToLiveText.milliseconds(number) else {
                throw .timeToLive
            }
            return ttl
        }
        return unsafe Change.Step(name, .put(parts.value.bytes), ttl: ttl)
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
        }
    }
}
