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

/// Why a JSON text is no line of an import.
package enum InvalidImportLine: Error, Hashable {
    case notAnObject
    /// There is no `name`, or it is no string.
    case noName
    case noValue
    case unknownMember
}
