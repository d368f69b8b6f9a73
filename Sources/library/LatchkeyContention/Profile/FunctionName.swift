import CLatchkeySystem
import Foundation

/// Names of functions for people.
enum FunctionName {
    /// The name of a mangled Swift symbol; nil for any other one.
    static func demangled(_ symbol: String) -> String? {
        guard let name = unsafe latchkey_system_demangle(symbol) else { return nil }
        defer { unsafe free(name) }
        return unsafe String(cString: name)
    }

    // Prefixes that the compiler adds to a name.
    private static let specialisations = [
        "generic specialization <", "function signature specialization <",
        "generic not re-abstracted specialization <", "generic partial specialization <",
        "generic not-reabstracted partial specialization <",
    ]
    private static let prefixes = [
        "merged ", "static ", "implicit closure ", "partial apply forwarder for ",
        "partial apply for ", "dispatch thunk of ", "protocol witness for ",
    ]

    /// A thunk of the compiler's has no name of its own.
    static let thunk = "reabstraction thunk"

    /// A demangled name without what the compiler added, generic arguments, parameters, results and
    /// the marks of private names.
    ///
    /// `generic specialization <A> of Shop.(Cart in _0F2A).add<A>(_: A) -> ()` is
    /// `Shop.Cart.add`. A closure is named with the function that it is in.
    static func short(_ name: String) -> String {
        var rest = Substring(name)
        var closures = ""
        while true {
            if specialisations.contains(where: rest.hasPrefix),
                let end = endOfBrackets(rest.drop { $0 != "<" })
            {
                rest = rest[end...].trimmingPrefix(" of ")
            } else if let prefix = prefixes.first(where: rest.hasPrefix) {
                rest = rest.dropFirst(prefix.count)
            } else if rest.hasPrefix("(extension in "), let place = rest.range(of: "):") {
                rest = rest[place.upperBound...]
            } else if rest.hasPrefix("closure #"), let place = rest.range(of: " in ") {
                closures = " (closure)"
                rest = rest[place.upperBound...]
            } else if rest.hasPrefix("$defer #"), let place = rest.range(of: " in ") {
                rest = rest[place.upperBound...]
            } else if rest.hasPrefix(thunk) {
                return thunk
            } else {
                break
            }
        }
        let short = bare(rest)
        return short.isEmpty ? name : short + closures
    }

    /// Without what is in brackets, up to the parameters.
    private static func bare(_ name: Substring) -> String {
        var bare = ""
        var rest = name
        while let character = rest.first {
            if character == "<", bare.last?.isLetter ?? false || bare.last?.isNumber ?? false,
                let end = endOfBrackets(rest)
            {
                rest = rest[end...]
            } else if character == "(" {
                // `(name in _0F2A)` is a private name; anything else begins the parameters.
                guard let end = endOfBrackets(rest) else { break }
                let inside = rest[rest.index(after: rest.startIndex)..<rest.index(before: end)]
                guard let place = inside.range(of: " in _") else { break }
                bare += inside[..<place.lowerBound]
                rest = rest[end...]
            } else if rest.hasPrefix(" -> ") || rest.hasPrefix(" : ") {
                break
            } else {
                bare.append(character)
                rest.removeFirst()
            }
        }
        return bare.trimmingCharacters(in: .whitespaces)
    }

    /// The index after the bracket that closes the first one.
    private static func endOfBrackets(_ text: Substring) -> Substring.Index? {
        var depth = 0
        var last: Character = " "
        for index in text.indices {
            let character = text[index]
            switch character {
            case "<", "(": depth += 1
            case ")": depth -= 1
            // Not the arrow `->`.
            case ">" where last != "-": depth -= 1
            default: break
            }
            if depth == 0 { return text.index(after: index) }
            last = character
        }
        return nil
    }
}
