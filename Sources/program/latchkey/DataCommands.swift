internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyComparison
internal import LatchkeyPersistence
internal import LatchkeySettings
internal import LatchkeyVerdict

/// `latchkey check`: looks for damage in a data folder.
enum CheckCommand {
    static let manual = """
        latchkey check: looks for damage in a data folder

        Usage: latchkey check DIR

        DIR is the folder of 'latchkey serve --data', which no service may use meanwhile.
        Reads everything and changes nothing. The folder can be on a file system that is
        read-only.

        Status:
          0    everything is as it was written
          1    something is damaged: the sentences say what, and where
          2    the command line cannot be used, or the folder cannot be read

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        let folder = try DataCommand.operands("check", ["DIR"], arguments)[0]
        let report = DataCommand.attempt { () throws(PersistenceFailure) in
            try Persistence.check(folder)
        }
        say(report.damages.map { "\($0)\n" }.joined() + report.text)
        exit(report.damages.isEmpty ? 0 : 1)
    }
}

/// `latchkey recover`: makes a damaged data folder usable.
enum RecoverCommand {
    static let flags = [
        Flag(
            "accept-loss",
            .toggle,
            default: "false",
            "Changes the files. Without it, the command only says what would be lost."
        )
    ]

    static let manual =
        """
        latchkey recover: makes a damaged data folder usable

        Usage: latchkey recover DIR [--accept-loss]

        Says which changes cannot be read, and with --accept-loss makes files without
        them, and without the answers of idempotency keys. The damaged files are kept
        beside them. A recovery that was interrupted goes on where it was.

        Status:
          0    nothing is damaged, or the folder can be used now
          1    something is damaged, and --accept-loss is not given
          2    the command line cannot be used, or the folder cannot be read or written


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(
            flags,
            command: "latchkey recover",
            operandCountMax: 1,
            arguments: arguments
        )
        let folder = try DataCommand.checked("recover", ["DIR"], values.operands)[0]
        let acceptsLoss = values.isOn("accept-loss")
        let report = DataCommand.attempt { () throws(PersistenceFailure) in
            try Persistence.recover(folder, acceptLoss: acceptsLoss)
        }
        say(report.losses.map { "\($0)\n" }.joined())
        if report.losses.isEmpty {
            say("Nothing is lost.\n" + report.before.text)
        } else if report.isDone {
            say("The folder can be used again.\n")
            if let path = report.keptPath {
                say("The damaged files are in \(path).\n")
            }
            say(DataCommand.droppedKeys)
        } else {
            say("Nothing was changed. Try 'latchkey recover \(folder) --accept-loss'.\n")
            exit(1)
        }
    }
}

/// `latchkey compact`: makes a data folder as small as it can be.
enum CompactCommand {
    static let manual = """
        latchkey compact: makes a data folder as small as it can be

        Usage: latchkey compact DIR

        DIR is the folder of 'latchkey serve --data', which no service may use meanwhile.
        Drops the history of changes, so that watches begin again, and gives the space
        back to the disk that the properties do not need. For that, the disk must have
        room for a copy of them. Properties, revisions and the answers of idempotency
        keys stay. A service compacts by itself, but its file does not get shorter.

        Status:
          0    done
          1    there was no room for the copy: the file is as long as before, and later
               changes use its free parts first
          2    the command line cannot be used, or the folder cannot be used

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        let folder = try DataCommand.operands("compact", ["DIR"], arguments)[0]
        let report = DataCommand.attempt { () throws(PersistenceFailure) in
            try Persistence.compact(folder)
        }
        say("\(report.formerByteCount) bytes before, \(report.byteCount) now.\n")
        if let failure = report.failure {
            complain("There is no room to make the file shorter: \(failure.message)")
            exit(1)
        }
    }
}

/// `latchkey backup`: copies the data of a service, which may be running.
enum BackupCommand {
    static let manual = """
        latchkey backup: copies the data of a service, which may be running

        Usage: latchkey backup DIR FILE

        Copies the data folder of 'latchkey serve --data' into a new file, as of one
        revision, and checks the copy before it says that it is done. The service goes on.
        FILE has its name when it is whole, and only its owner can read it.
        'latchkey restore' makes a folder from the file.

        Status:
          0    the backup is complete and checked
          2    the command line cannot be used, or the backup could not be made

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        let operands = try DataCommand.operands("backup", ["DIR", "FILE"], arguments)
        let report = DataCommand.attempt { () throws(PersistenceFailure) in
            try Persistence.backup(of: operands[0], into: operands[1])
        }
        let unused = "No service uses the folder: one that runs has other files open.\n"
        say("Backup made and checked: \(operands[1])\n" + report.text)
        if !report.isInUse { say(unused) }
    }
}

/// `latchkey restore`: makes a data folder from a backup.
enum RestoreCommand {
    static let manual = """
        latchkey restore: makes a data folder from a backup

        Usage: latchkey restore FILE DIR

        FILE is from 'latchkey backup'; DIR must be new or empty. Revisions go on at
        least 4294967296 after the last one of the backup: how far depends on the time.
        The history is dropped. So no entity tag, cursor or watch from after the backup
        matches, nor one of an earlier restore: clients read again. The answers of
        idempotency keys are dropped, too: a request that is sent again with its key is
        made again.

        Status:
          0    the folder can be used
          2    the command line cannot be used, or the folder could not be made

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        let operands = try DataCommand.operands("restore", ["FILE", "DIR"], arguments)
        let report = DataCommand.attempt { () throws(PersistenceFailure) in
            try Persistence.restore(operands[0], into: operands[1])
        }
        say("Restored: \(operands[1])\n" + report.text + DataCommand.droppedKeys)
    }
}

/// The common parts of the commands on data folders.
private enum DataCommand {
    static let droppedKeys =
        "The answers of idempotency keys are not kept: what is sent again is made again.\n"

    /// The operands, all of which are needed.
    static func operands(
        _ command: String,
        _ names: [String],
        _ arguments: [String]
    ) throws(UsageError) -> [String] {
        let values = try FlagValues(
            [],
            command: "latchkey \(command)",
            operandCountMax: names.count,
            arguments: arguments
        )
        return try checked(command, names, values.operands)
    }

    static func checked(
        _ command: String,
        _ names: [String],
        _ operands: [String]
    ) throws(UsageError) -> [String] {
        guard operands.count == names.count else {
            throw UsageError("'latchkey \(command)' needs \(names.joined(separator: " and ")).")
        }
        return operands
    }

    /// The result; or says the failure and ends with status 2.
    static func attempt<Report>(_ body: () throws(PersistenceFailure) -> Report) -> Report {
        do throws(PersistenceFailure) {
            return try body()
        } catch {
            complain(error.message)
            exit(2)
        }
    }
}

extension CheckReport {
    /// The content of the folder.
    fileprivate var text: String {
        FigureText.counted(propertyCount, "property") + ", "
            + FigureText.counted(changeCount, "change")
            + ", revision \(lastRevision), \(byteCount) bytes\n"
    }
}
