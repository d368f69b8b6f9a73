internal import Foundation
internal import LatchkeyAccess
internal import LatchkeyCommandLine
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey token`: makes tokens for `latchkey serve --token-file`, and revokes all of a file.
enum TokenCommand {
    static let flags = [
        Flag(
            "grant",
            .text(placeholder: "RIGHTS"),
            default: "",
            isRepeatable: true,
            "The rights of the holder: rights with commas between them, and for read and write "
                + "the prefix of the names that they hold for, percent-encoded. A prefix ends the "
                + "list: give further rights as another --grant."
        ),
        Flag(
            "token-file",
            .text(placeholder: "FILE"),
            default: "",
            "create adds the line to this file, which is made if it is not there, and prints only "
                + "the token. revoke replaces the file."
        ),
        Flag(
            "all",
            .toggle,
            default: "false",
            hasEnvironment: false,
            "revoke needs it: no token of the file is valid any more."
        ),
    ]

    static let manual = """
        latchkey token: makes a token, which says what its holder may do

        Usage: latchkey token create NAME --grant RIGHTS [--grant RIGHTS ...]
                                          [--token-file FILE]
               latchkey token revoke --all --token-file FILE

        Prints the token, which is nowhere else, and the line for the file of tokens of
        'latchkey serve --token-file'. The line has a hash, from which the token cannot be
        made. A client sends 'Authorization: Bearer TOKEN'. The name says who holds the
        token: shares, operations and idempotency keys are those of the name.

        'revoke --all' replaces the file by one without tokens: a service that reads it
        answers no request that needs one. To empty the file does not do that: the tokens
        that it had stay valid until it is right again.

        To replace a token, make a second one of the same name and grants, give it to its
        holder, and then remove the first line. A service reads its file again when it
        changes.

        Rights:
          read, write     properties: all, or with :PREFIX those whose names begin so
          operations      submit operations, and see and cancel one's own
          fetch, compare  have operations fetch from other hosts, or compare strategies
          export, import  what can be read, and what can be written
          admin           reset figures, take profiles, switch the strategy, see who
                          watches, see and cancel all operations, promote a replica
          backup          take a backup of all data

        Example:
          latchkey token create ci --grant read,write:app/ --grant operations \\
            --token-file tokens


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        if arguments.first == "revoke" { return try revoke(arguments.dropFirst()) }
        guard arguments.first == "create" else {
            throw UsageError("'latchkey token' needs 'create', a name and --grant, or 'revoke'.")
        }
        let values = try FlagValues(
            flags,
            command: "latchkey token create",
            operandCountMax: 1,
            arguments: arguments.dropFirst()
        )
        guard let name = values.operands.first else {
            throw UsageError("'latchkey token create' needs a name.")
        }
        guard values.isGiven("grant") else {
            throw UsageError("'latchkey token create' needs --grant, or its token is of no use.")
        }
        guard !values.isOn("all") else {
            throw UsageError("--all has no meaning with 'latchkey token create'.")
        }
        let grants = values.text("grant").split(separator: " ").map(String.init)
        let made: (secret: String, line: String)
        do {
            made = try TokenLine.make(name, grants)
        } catch {
            throw UsageError(error.message)
        }
        let file = values.text("token-file")
        guard !file.isEmpty else {
            return say("\(made.secret)\n\(made.line)\n")
        }
        do {
            try TokenLine.add(made.line, to: file)
        } catch {
            complain(error.message)
            exit(2)
        }
        say("\(made.secret)\n")
    }

    private static func revoke(_ arguments: ArraySlice<String>) throws(UsageError) {
        let values = try FlagValues(
            flags,
            command: "latchkey token revoke",
            operandCountMax: 0,
            arguments: arguments
        )
        let file = values.text("token-file")
        guard values.isOn("all"), !file.isEmpty, !values.isGiven("grant") else {
            throw UsageError("'latchkey token revoke' needs --all and --token-file FILE only.")
        }
        do {
            try TokenLine.revokeAll(in: file)
        } catch {
            complain(error.message)
            exit(2)
        }
        say("No token of \(file) is valid any more. A running service reads it within a second.\n")
    }
}
