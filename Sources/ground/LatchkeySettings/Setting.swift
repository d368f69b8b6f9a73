/// One value that is chosen at start: its name, default, bounds, unit and meaning.
///
/// A setting is declared once, by the type that owns the value, in ``Configurable/settings``. The
/// flags of the program, its environment variables, its help and the table in `docs/settings.md`
/// are made from that declaration. The default is the value of ``Configurable/standard``.
package struct Setting<Owner: Configurable>: Sendable {
    /// Lower-case words with hyphens between them.
    package let name: String
    package let values: SettingValues
    /// One sentence, or a few, for operators of the service.
    ///
    /// Tables and the short help have the first one only.
    package let help: String
    /// Whether the flag can be given several times: then its values are put together with commas.
    package private(set) var isRepeatable = false
    private let shownDefault: String?
    private let spell: @Sendable (Owner) -> String
    private let assign: @Sendable (String, inout Owner) -> Bool

    /// Declares a setting whose value is kept at a key path.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - values: The values that it can have, as text.
    ///   - path: Where the owner keeps the value.
    ///   - shownDefault: The default for readers, where the value depends on the machine.
    ///   - help: The meaning.
    ///   - text: Spells a value.
    ///   - value: Reads a text that has passed the check of `values`.
    package init<Value>(
        _ name: String,
        _ values: SettingValues,
        _ path: any WritableKeyPath<Owner, Value> & Sendable,
        default shownDefault: String? = nil,
        _ help: String,
        text: @escaping @Sendable (Value) -> String,
        value: @escaping @Sendable (String) -> Value?
    ) {
        self.init(name, values, shownDefault, help) { owner in
            text(owner[keyPath: path])
        } assign: { text, owner in
            guard let value = value(text) else { return false }
            owner[keyPath: path] = value
            return true
        }
    }

    fileprivate init(
        _ name: String,
        _ values: SettingValues,
        _ shownDefault: String?,
        _ help: String,
        spell: @escaping @Sendable (Owner) -> String,
        assign: @escaping @Sendable (String, inout Owner) -> Bool
    ) {
        self.name = name
        self.values = values
        self.shownDefault = shownDefault
        self.help = help
        self.spell = spell
        self.assign = assign
    }

    /// The default, for readers.
    package var defaultText: String { shownDefault ?? spell(.standard) }

    /// The value that the owner has, as text.
    package func text(in owner: Owner) -> String { spell(owner) }

    /// Gives the owner the value that the text stands for.
    package func set(_ text: String, in owner: inout Owner) throws(InvalidSetting) {
        let plain = try values.check(text)
        guard assign(plain, &owner) else {
            preconditionFailure("\(name) passed its check with '\(text)' and cannot be read.")
        }
    }

    /// The same setting as one of a type that contains the owner.
    package func contained<Outer: Configurable>(
        in path: any WritableKeyPath<Outer, Owner> & Sendable
    ) -> Setting<Outer> {
        var setting = Setting<Outer>(name, values, shownDefault, help) { [spell] outer in
            spell(outer[keyPath: path])
        } assign: { [assign] text, outer in
            assign(text, &outer[keyPath: path])
        }
        setting.isRepeatable = isRepeatable
        return setting
    }

    /// The same setting, whose flag can be given several times.
    package func repeatable() -> Self {
        var setting = self
        setting.isRepeatable = true
        return setting
    }
}

extension String {
    /// The first of the sentences of a help.
    package var firstSentence: String {
        firstRange(of: ". ").map { self[..<$0.lowerBound] + "." } ?? self
    }
}

/// A type with values that are chosen at start.
package protocol Configurable: Sendable {
    /// All defaults.
    static var standard: Self { get }

    /// The values that are chosen at start.
    static var settings: [Setting<Self>] { get }
}

extension Configurable {
    /// Sets some values by one text, such as `max-exports=4,rate-burst=2`.
    ///
    /// - Parameters:
    ///   - text: Names and values, separated by commas, no name twice.
    ///   - settings: The settings that it can name. Their values have no commas.
    /// - Throws: The first mistake: the rest of a sentence that begins with the text's source.
    package mutating func set(
        _ text: String,
        of settings: [Setting<Self>]
    ) throws(InvalidSetting) {
        var seen: Set<String> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let end = part.firstIndex(of: "=") else {
                throw InvalidSetting("takes NAME=VALUE,NAME=VALUE, not '\(part)'.")
            }
            let name = String(part[..<end])
            guard let setting = settings.first(where: { $0.name == name }) else {
                let suggestion = Suggestion.sentence(for: name, among: settings.map(\.name))
                throw InvalidSetting("has an unknown name '\(name)'.\(suggestion)")
            }
            guard seen.insert(name).inserted else {
                throw InvalidSetting("names '\(name)' twice.")
            }
            do {
                try setting.set(String(part[part.index(after: end)...]), in: &self)
            } catch {
                throw InvalidSetting("sets \(name), which \(error.message)")
            }
        }
    }

    /// Checks values that were set by code against the bounds of their settings.
    package func checkSettings(
        _ settings: [Setting<Self>] = Self.settings
    ) throws(InvalidSetting) {
        for setting in settings {
            do {
                try setting.values.check(setting.text(in: self))
            } catch {
                throw InvalidSetting("\(setting.name) \(error.message)")
            }
        }
    }
}

extension Setting {
    /// A setting with a whole number, such as a count or a size.
    package static func integer<Value: FixedWidthInteger & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Value> & Sendable,
        _ bounds: ClosedRange<Int>,
        unit: Measure = .none,
        default shownDefault: String? = nil,
        _ help: String
    ) -> Self {
        let values = SettingValues.integer(bounds, unit: unit)
        return Self(name, values, path, default: shownDefault, help) {
            "\($0)"
        } value: {
            Value($0)
        }
    }

    /// A setting with a time in whole seconds.
    ///
    /// Code can set a shorter time, which counts as the next whole second in the check.
    package static func seconds(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Duration> & Sendable,
        _ bounds: ClosedRange<Int>,
        _ help: String
    ) -> Self {
        Self(name, .integer(bounds, unit: .seconds), path, help) { duration in
            let (seconds, attoseconds) = duration.components
            return "\(seconds + (attoseconds > 0 ? 1 : 0))"
        } value: { text in
            Int(text).map { .seconds($0) }
        }
    }

    package static func toggle(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Bool> & Sendable,
        _ help: String
    ) -> Self {
        Self(name, .toggle, path, help) {
            "\($0)"
        } value: {
            Bool($0)
        }
    }

    package static func text(
        _ name: String,
        _ path: any WritableKeyPath<Owner, String> & Sendable,
        placeholder: String,
        _ help: String
    ) -> Self {
        Self(name, .text(placeholder: placeholder), path, help) {
            $0
        } value: {
            $0
        }
    }

    /// A setting with a path, or `none`, which is the empty path.
    ///
    /// A file with this name is `./none`.
    package static func path(
        _ name: String,
        _ path: any WritableKeyPath<Owner, String> & Sendable,
        placeholder: String = "FILE",
        _ help: String
    ) -> Self {
        let values = SettingValues.spelling(
            placeholder: placeholder,
            help: "a path below 4000 bytes, or none"
        ) {
            // A path in /proc, and one of SQLite's three files, must fit into 4,096 bytes.
            !$0.isEmpty && $0.utf8.count < 4000
        }
        return Self(name, values, path, help) {
            $0.isEmpty ? "none" : $0
        } value: {
            $0 == "none" ? "" : $0
        }
    }

    /// A setting with a list of texts, or `none`, which is the empty list.
    package static func texts(
        _ name: String,
        _ path: any WritableKeyPath<Owner, [String]> & Sendable,
        placeholder: String,
        of help: String,
        isRight: @escaping @Sendable (String) -> Bool,
        _ meaning: String
    ) -> Self {
        let element = SettingValues.Element.spelling(
            placeholder: placeholder,
            help: help + ", or none"
        ) {
            $0 == "none" || isRight($0)
        }
        return Self(name, .list(element), path, meaning) {
            $0.isEmpty ? "none" : $0.joined(separator: ",")
        } value: { text in
            text.split(separator: ",").map(String.init).filter { $0 != "none" }
        }
    }

    /// A setting with one of the cases of an enumeration.
    package static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<Owner, Value> & Sendable,
        _ help: String
    ) -> Self {
        let values = SettingValues.choice(Value.allCases.map(\.rawValue))
        return Self(name, values, path, help) {
            $0.rawValue
        } value: {
            Value(rawValue: $0)
        }
    }
}
