internal import LatchkeyStrategies

/// Whether the service serves all requests, and the checks that prevent it.
package final class Readiness: Sendable {
    package struct Check: Sendable {
        package let name: StaticString
        package let isPassed: Bool
        /// A sentence, for people.
        package var detail: String?

        package init(name: StaticString, isPassed: Bool, detail: String? = nil) {
            self.name = name
            self.isPassed = isPassed
            self.detail = detail
        }
    }

    private struct State {
        var isRecovering: Bool
        /// Whether all routes are served.
        var isOpen = false
        var isDraining = false
        /// Rows of the data to read, and those already read.
        var rowCount = 0
        var readCount = 0
        /// Whether commits can be written, once the data are read.
        var journal: (@Sendable () -> Check)?
        var isHeld: @Sendable () -> Bool = { false }

        /// Whether requests are served: after all steps of the start, and before the drain.
        var accepting: Check {
            let isAccepting = isOpen && !isDraining
            let detail = isDraining ? "The service is shutting down." : "The service is starting."
            return Check(
                name: "accepting",
                isPassed: isAccepting,
                detail: isAccepting ? nil : detail
            )
        }
    }

    private let state: Guarded<State>
    private let isInsecure: Bool
    /// Whether the state is up to date with that of others; nil if it is that of this service
    /// alone.
    private let others: (@Sendable () -> Check)?

    /// - Parameters:
    ///   - isRecovering: Whether data is read first.
    ///   - isInsecure: Whether other machines can reach the service, and every client may do
    ///     everything.
    ///   - others: Whether the state is up to date with that of others, if they change it.
    package init(
        isRecovering: Bool,
        isInsecure: Bool = false,
        others: (@Sendable () -> Check)? = nil
    ) {
        self.others = others
        state = Guarded(State(isRecovering: isRecovering))
        self.isInsecure = isInsecure
    }

    /// Notes how many rows are to be read.
    package func begins(storedCount: Int, changeCount: Int) {
        // Not checked yet: a damaged number must not end the process here.
        state.write { $0.rowCount = storedCount &+ changeCount }
    }

    /// Notes how many more rows are read.
    package func add(_ rowCount: Int) {
        state.write { $0.readCount += rowCount }
    }

    /// Notes that all routes are served.
    package func opens() {
        state.write { $0.isOpen = true }
    }

    /// Notes that the service takes no more requests.
    package func drains() {
        state.write { $0.isDraining = true }
    }

    /// Whether the disk is full, and decided writes wait for room.
    package var isHeld: Bool { state.read { $0.isHeld }() }

    /// Notes that the data are read; checks from now on whether commits can be written.
    ///
    /// - Parameters:
    ///   - journal: The check.
    ///   - isHeld: Whether decided writes wait for room on the disk.
    package func recovered(
        journal: @escaping @Sendable () -> Check,
        isHeld: @escaping @Sendable () -> Bool = { false }
    ) {
        state.write {
            $0.journal = journal
            $0.isHeld = isHeld
            $0.isRecovering = false
        }
    }

    package var checks: [Check] {
        let state = state.read { $0 }
        var checks = [state.accepting]
        if isInsecure {
            let detail = "Everybody who can connect may do everything (--insecure)."
            checks.append(Check(name: "access", isPassed: true, detail: detail))
        }
        if let others {
            checks.append(others())
        }
        if state.isRecovering {
            let detail = "\(state.readCount) of \(state.rowCount) rows of the data are read."
            checks.append(Check(name: "recovered", isPassed: false, detail: detail))
        } else if let journal = state.journal {
            checks.append(Check(name: "recovered", isPassed: true))
            checks.append(journal())
        }
        return checks
    }
}
