internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeySettings

/// A command that is a client of a service.
protocol ClientCommand {
    var name: String { get }
    /// The part of the manual before the statuses.
    var introduction: String { get }
    /// The text on the status, for the manual.
    var status: String { get }
    /// Its own flags.
    var ownFlags: [Flag] { get }
    var operandCountMax: Int { get }
    /// The operands that shells complete: those that are not names of properties.
    var operands: [Flag.Value] { get }

    /// The arguments, with other spellings of flags replaced.
    func spelledOut(_ arguments: [String]) -> [String]

    /// Does it.
    ///
    /// - Throws: Why it was not done. `.usage` is an error in the command line.
    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure)
}

extension ClientCommand {
    /// Its own flags, and those with which all clients find their service.
    var flags: [Flag] { ownFlags + ClientFlags.all }

    var manual: String {
        "latchkey \(name): \(introduction)\n\n\(status)\n\n"
            + flags.map(\.manual).joined(separator: "\n")
    }

    var status: String { ClientStatus.manual }

    var operands: [Flag.Value] { [] }

    func spelledOut(_ arguments: [String]) -> [String] { arguments }

    func run(_ arguments: [String]) throws(UsageError) {
        do throws(ClientFailure) {
            let values = try values(arguments)
            try finish(values, try ClientFlags.settings(values).client())
        } catch  where error.status == .usage {
            throw UsageError(error.message)
        } catch {
            complain(error.message)
            exit(error.status.rawValue)
        }
    }

    /// Does it; a failure after a write does not say that nothing was changed.
    func finish(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        do throws(ClientFailure) {
            try run(values, client)
        } catch  where error.status == .failed && client.hasWritten {
            throw ClientFailure(.unknown, "\(error.message) The write was made.")
        }
    }

    /// The values of the command's flags.
    func values(
        _ arguments: [String],
        environment: (String) -> String? = FlagValues.processEnvironment
    ) throws(ClientFailure) -> FlagValues {
        try ClientFlags.values(
            flags,
            command: "latchkey \(name)",
            operandCountMax: operandCountMax,
            arguments: spelledOut(arguments),
            environment: environment
        )
    }

    /// The operand at an index; an error if there are fewer.
    func operand(
        _ values: FlagValues,
        _ index: Int,
        _ meaning: String
    ) throws(ClientFailure) -> String {
        guard values.operands.count > index else {
            throw ClientFailure(.usage, "'latchkey \(name)' needs \(meaning).")
        }
        return values.operands[index]
    }
}

/// The flags with which all clients find their service, and others that several have.
enum ClientFlags {
    static let all = ClientSettings.settings.map { Flag($0) }

    private static let tokens = ["token", "token-from"]

    static let json = Flag.toggle("json", "Prints JSON, one object in a line.")
    static let jsonAlways = Flag.toggle("json", "Nothing changes: it always prints JSON.")
    static let ttl = Flag(
        "ttl",
        .times(0.001...315_360_000),
        default: "",
        hasEnvironment: false,
        "The time after which the property is removed."
    )
    static let ttlIfNew = Flag(
        "ttl-if-new",
        .times(0.001...315_360_000),
        default: "",
        hasEnvironment: false,
        "As --ttl, but only if the property is created: one that is there keeps its time."
    )
    static let prefix = Flag(
        "prefix",
        .text(placeholder: "PREFIX"),
        default: "",
        hasEnvironment: false,
        "Only properties whose names begin so."
    )
    static let ifRevision = Flag(
        "if-revision",
        .integer(1...Int.max),
        default: "",
        hasEnvironment: false,
        "Only if the property has this revision; otherwise status 4."
    )
    static let wait = Flag(
        "wait",
        .times(0...60),
        default: "0",
        hasEnvironment: false,
        "The time to wait for it."
    )
    static let key = Flag(
        "idempotency-key",
        .text(placeholder: "KEY"),
        default: "",
        hasEnvironment: false,
        "Repeats of the same command with the same key are made once. Without it, each command has "
            + "a key of its own."
    )

    /// The values of a command's flags, from the arguments, the environment and the user's file.
    static func values(
        _ flags: [Flag],
        command: String,
        operandCountMax: Int,
        arguments: [String],
        environment: (String) -> String? = FlagValues.processEnvironment
    ) throws(ClientFailure) -> FlagValues {
        let file = try ClientFile(environment: environment)
        do {
            return try FlagValues(
                flags,
                command: command,
                operandCountMax: operandCountMax,
                arguments: arguments
            ) { value(of: $0, environment: environment, file: file) }
        } catch {
            throw ClientFailure(.usage, error.message)
        }
    }

    /// The value of a variable, or else of the user's file.
    private static func value(
        of variable: String,
        environment: (String) -> String?,
        file: ClientFile
    ) -> String? {
        if let value = environment(variable) { return value }
        guard let flag = all.first(where: { $0.environmentName == variable }) else { return nil }
        // A token of the environment has precedence over one of the file.
        let isReplaced =
            tokens.contains(flag.name)
            && all.contains { other in
                tokens.contains(other.name) && environment(other.environmentName) != nil
            }
        return isReplaced ? nil : file.values[flag.name]
    }

    /// The source of the service's address.
    private static func urlSource(_ values: FlagValues) -> String? {
        guard let flag = all.first(where: { $0.name == "url" }) else { return nil }
        guard values.isGiven(flag.name) else { return "the default; --url URL names another" }
        let source = values.source(flag)
        let isOfFile =
            source == flag.environmentName
            && FlagValues.processEnvironment(flag.environmentName) == nil
        return isOfFile ? ClientFile.path(environment: FlagValues.processEnvironment) : source
    }

    static func settings(_ values: FlagValues) throws(ClientFailure) -> ClientSettings {
        var settings = ClientSettings()
        do {
            try values.set(in: &settings)
        } catch {
            throw ClientFailure(.usage, error.message)
        }
        settings.urlSource = urlSource(values)
        if tokens.allSatisfy(values.isGiven) {
            let flags = all.filter { tokens.contains($0.name) }
            let given = flags.filter { values.source($0) == "--\($0.name)" }
            guard given.count == 1 else {
                throw ClientFailure(.usage, "give a token, or the file of one, not both.")
            }
            if given[0].name == "token" {
                settings.tokenFile = ClientSettings.none
            }
        }
        return settings
    }
}

extension FlagValues {
    /// A time in the service's form, or nil if the flag is not given.
    func seconds(_ name: String) -> String? {
        isGiven(name) ? SecondsText.duration(text(name)).map { SecondsText.text($0) } : nil
    }

    /// A time that has a default.
    func duration(_ name: String) -> Duration {
        SecondsText.duration(text(name)) ?? .zero
    }

    /// The text of a flag, or nil if it is not given.
    func given(_ name: String) -> String? { isGiven(name) ? text(name) : nil }
}

extension ClientRequest {
    /// Adds the conditions, times to live and repeats of the flags.
    ///
    /// A write has a key in any case, unless it can be made twice.
    mutating func add(_ values: FlagValues, _ flags: [Flag]) throws(ClientFailure) {
        for flag in flags where values.isGiven(flag.name) {
            switch flag.name {
            case ClientFlags.ttl.name, ClientFlags.ttlIfNew.name:
                add(flag.name, values.seconds(flag.name))
            case ClientFlags.wait.name: wait = values.duration(flag.name)
            case ClientFlags.ifRevision.name:
                add(field: "If-Match: \"\(values.text(flag.name))\"")
            case ClientFlags.key.name:
                try addKey(values.text(flag.name))
            case _: break
            }
        }
        guard !["ttl", "ttl-if-new"].allSatisfy({ name in query.contains { $0.name == name } })
        else { throw ClientFailure(.usage, "give --ttl or --ttl-if-new, not both.") }
        if !isRepeatable { makeRepeatable() }
        repeatAdvice = key.map {
            "The same command with --idempotency-key \($0) makes it once, and prints its answer."
        }
    }

    private mutating func addKey(_ key: String) throws(ClientFailure) {
        guard key.utf8.count <= 255, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ClientFailure(
                .usage,
                "--idempotency-key takes 1 to 255 visible characters of ASCII."
            )
        }
        makeRepeatable(key)
    }
}
