internal import Foundation
internal import LatchkeyCommandLine
public import LatchkeyComparison
// A lab names strategies, values and operations without another import.
@_exported public import LatchkeyStrategies

@_exported public import struct LatchkeyComparison.Workload
@_exported public import struct LatchkeyComparison.WorkloadCounts
@_exported public import struct LatchkeyComparison.WorkloadOperation

/// A program's own locks and critical sections, measured as `latchkey compare` measures ours.
///
/// A program that is a lab registers its strategies and its workload, and calls ``run(_:)``, which
/// reads the command line, measures, prints the report and ends the program:
///
/// ```swift
/// import LatchkeyLab
///
/// Lab()
///     .strategy("backoff", BackoffLock.self)
///     .run()
/// ```
///
/// ```sh
/// swift run -c release MyLab --strategies backoff,lock,adaptive --threads 1,4
/// ```
///
/// **Strategies.** A ``RawLock``, or any strategy, under a name of 1 to 40 letters, digits, `-`,
/// `_` and `.` that is not one of ours. It is compared with all of ours, in interleaved repeats.
/// Before that, the laws of a lock are tried on it: no update is lost, reads are whole, a writer
/// is alone, every waiter is woken. If one is broken, or an operation does not return within eight
/// seconds, nothing is measured and the status is 1.
///
/// **A workload.** A lab with a ``Workload`` measures the program's own value and critical sections
/// under every strategy, instead of the built-in section.
///
/// **Specialisation.** The timed loop is compiled in the program, for the types that it names. So a
/// strategy has the same cost there as in `latchkey compare`. Use a release build: the figures of a
/// debug build are not ranked.
public struct Lab<Value: Sendable>: Sendable {
    @usableFromInline var catalogue: Catalogue
    @usableFromInline let workload: Workload<Value>?

    /// A lab that measures a workload of its own.
    @inlinable
    public init(_ workload: Workload<Value>) {
        self.workload = workload
        catalogue = Catalogue(OwnWorkload(workload))
    }

    @inlinable
    init(_ workload: Workload<Value>?, _ catalogue: Catalogue) {
        self.workload = workload
        self.catalogue = catalogue
    }

    /// Adds a strategy that can block, as nearly all can.
    ///
    /// - Parameters:
    ///   - name: The name on the command line and in the report.
    ///   - make: Makes the strategy of one value. Called for every repeat.
    /// - Returns: The lab with the strategy.
    @inlinable
    public func strategy<ChosenStrategy: BlockingStrategy>(
        _ name: String,
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> Self {
        adding(RegisteredStrategy(name, workload, make))
    }

    /// Adds a strategy that only has submitting access functions, such as an actor.
    ///
    /// For a strategy that can block the compiler takes the function above, which asks for more.
    @inlinable
    public func strategy<ChosenStrategy: Strategy>(
        _ name: String,
        _ make: @escaping @Sendable () -> ChosenStrategy
    ) -> Self {
        adding(RegisteredStrategy(submitting: name, workload, make))
    }

    /// Adds a strategy that can be made without arguments.
    @inlinable
    public func strategy<ChosenStrategy: BlockingStrategy & MakeableStrategy>(
        _ name: String,
        _ strategy: ChosenStrategy.Type
    ) -> Self {
        self.strategy(name) { ChosenStrategy() }
    }

    /// Adds a lock, as a strategy of that one lock.
    @inlinable
    public func strategy<Lock: RawLock>(_ name: String, _ lock: Lock.Type) -> Self {
        strategy(name) { RawLockStrategy<Lock>() }
    }

    @inlinable
    func adding(_ strategy: RegisteredStrategy) -> Self {
        var catalogue = catalogue
        catalogue.add(strategy)
        return Self(workload, catalogue)
    }

    /// Does what the command line says, and ends the program.
    ///
    /// The flags are those of `latchkey compare`, without those for HTTP; `--help` prints them. The
    /// status is 0 if all went well, 1 if a strategy failed a check, 2 for a mistake in the command
    /// line or in the lab, and 130 after Ctrl-C. With `--against` it is 1 if a figure is worse.
    ///
    /// - Parameter arguments: The command line, without the name of the program.
    public func run(_ arguments: [String] = Array(CommandLine.arguments.dropFirst())) -> Never {
        openStandardStreams()
        // A write to a closed pipe is an error of that write and does not end the program.
        signal(SIGPIPE, SIG_IGN)
        let catalogue = prepared(programName)
        do throws(ComparisonError) {
            try catalogue.validate()
        } catch {
            complain(error.message)
            exit(2)
        }
        if arguments.contains(where: { ["--help", "-h"].contains($0) }) {
            sayManual(CompareCommand.manual(catalogue))
            exit(0)
        }
        do throws(UsageError) {
            try CompareCommand.run(arguments, catalogue)
        } catch {
            complain(error.message)
            say("Try '\(programName) --help'.\n", to: 2)
            exit(2)
        }
        exit(0)
    }
}

extension Lab {
    /// The catalogue of a program.
    func prepared(_ program: String) -> Catalogue {
        var catalogue = catalogue
        catalogue.program = program
        return catalogue
    }
}

extension Lab where Value == Never {
    /// A lab that measures the built-in section, as `latchkey compare` does.
    @inlinable
    public init() {
        self.init(nil, Catalogue())
    }
}
