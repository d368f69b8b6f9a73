internal import LatchkeyFrame
internal import LatchkeyJSON
internal import LatchkeyOperations
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Reads the body of a request for operations.
struct OperationBody {
    static let operationCountMax = 128
    private static let nameByteCountMax = 256
    /// Ten years.
    private static let delaySecondsMax = 315_360_000
    /// An hour: a step that waits keeps a place that others could use.
    private static let waitSecondsMax = 3600

    let fetching: FetchLimits
    let canCompare: Bool
    /// The name of the submitter, if that is known.
    let owner: String?
    /// The origin of the request; nil without an audit log.
    let origin: OperationOrigin?
    /// The reason why the owner may not make a step.
    let refusal: OperationPlan.Refusal

    /// The plans of one operation, or of several: `{"operations":[…]}`.
    func plans(_ json: JSONView) throws(RequestFailure) -> (plans: [OperationPlan], isList: Bool) {
        guard let list = json.members.first(where: { $0.name.isString("operations") }) else {
            return ([try plan(json)], false)
        }
        _ = try members(json, ["operations"], "A list of operations")
        guard list.value.kind == .array else { throw invalid("operations must be an array.") }
        var plans: [OperationPlan] = []
        for item in list.value.elements {
            guard plans.count < Self.operationCountMax else {
                throw invalid("operations can have at most \(Self.operationCountMax) items.")
            }
            let number = plans.count + 1
            let plan = try inItem(number, of: "operations") { () throws(RequestFailure) in
                try self.plan(item)
            }
            plans.append(plan)
        }
        guard !plans.isEmpty else { throw invalid("operations must not be empty.") }
        return (plans, true)
    }

    /// Reads one operation, which is copied, because its plan outlives the request.
    private func plan(_ json: JSONView) throws(RequestFailure) -> OperationPlan {
        let source = unsafe OwnedBytes(copying: json.bytes)
        let names: [StaticString] = [
            "id", "name", "priority", "dependsOn", "after", "steps", "catch",
        ]
        let found = try unsafe members(JSONView(source.bytes), names, "An operation")
        guard let steps = found[5] else { throw invalid("An operation needs steps.") }
        let plan = OperationPlan(
            owner: owner,
            origin: origin,
            refusal: refusal,
            id: try found[0].map { (json) throws(RequestFailure) in try id(json) },
            name: try found[1].map { (json) throws(RequestFailure) in try name(json) },
            priority: try found[2].map { (json) throws(RequestFailure) in try priority(json) }
                ?? .normal,
            dependencies: try found[3].map { (json) throws(RequestFailure) in
                try dependencies(json)
            } ?? [],
            delay: try found[4].map { (json) throws(RequestFailure) in
                try duration(json, "after", secondsMax: Self.delaySecondsMax)
            } ?? .zero,
            steps: try list(steps, "steps"),
            recovery: try found[6].map { (json) throws(RequestFailure) in
                try list(json, "catch")
            } ?? [],
            source: source
        )
        guard !plan.steps.isEmpty else { throw invalid("steps must not be empty.") }
        return plan
    }

    private func id(_ json: JSONView) throws(RequestFailure) -> OperationID {
        guard let text = json.string, let id = OperationID(text) else {
            throw invalid(
                "An identifier has 1 to \(OperationID.countMax) letters, digits, dots, hyphens and "
                    + "underscores, and is not . or .. itself."
            )
        }
        return id
    }

    private func name(_ json: JSONView) throws(RequestFailure) -> String {
        guard let name = json.string, name.utf8.count <= Self.nameByteCountMax else {
            throw invalid("name must be a string of at most \(Self.nameByteCountMax) bytes.")
        }
        return name
    }

    private func priority(_ json: JSONView) throws(RequestFailure) -> OperationPriority {
        guard let text = json.string, let priority = OperationPriority(rawValue: text) else {
            let names = OperationPriority.allCases.map(\.rawValue).joined(separator: ", ")
            throw invalid("priority must be one of \(names).")
        }
        return priority
    }

    private func dependencies(_ json: JSONView) throws(RequestFailure) -> [OperationID] {
        guard json.kind == .array else { throw invalid("dependsOn must be an array.") }
        var ids: [OperationID] = []
        for item in json.elements {
            guard ids.count < OperationPlan.dependencyCountMax else {
                throw invalid(
                    "dependsOn can have at most \(OperationPlan.dependencyCountMax) items."
                )
            }
            ids.append(try id(item))
        }
        return ids
    }

    /// A time in seconds.
    private func duration(
        _ json: JSONView,
        _ name: String,
        secondsMax: Int
    ) throws(RequestFailure) -> Duration {
        let bounds = 0...Int64(secondsMax) * 1000
        guard let milliseconds = SecondsText.milliseconds(json.double, in: bounds) else {
            throw invalid("\(name) must be a number of seconds from 0 to \(secondsMax).")
        }
        return .milliseconds(milliseconds)
    }
}

// MARK: Steps

extension OperationBody {
    private func list(_ json: JSONView, _ name: String) throws(RequestFailure) -> [OperationStep] {
        guard json.kind == .array else { throw invalid("\(name) must be an array.") }
        var steps: [OperationStep] = []
        for item in json.elements {
            guard steps.count < OperationPlan.stepCountMax else {
                throw invalid("\(name) can have at most \(OperationPlan.stepCountMax) items.")
            }
            let step = try inItem(steps.count + 1, of: name) { () throws(RequestFailure) in
                try self.step(item)
            }
            steps.append(step)
        }
        return steps
    }

    private func step(_ json: JSONView) throws(RequestFailure) -> OperationStep {
        for member in json.members {
            if member.name.isString("transaction") {
                _ = try members(json, ["transaction"], "This step")
                return .transaction(
                    try checked { () throws(InvalidTransaction) in try Transaction(member.value) }
                )
            }
            if member.name.isString("wait") {
                _ = try members(json, ["wait"], "This step")
                return .wait(try duration(member.value, "wait", secondsMax: Self.waitSecondsMax))
            }
            if member.name.isString("import") {
                _ = try members(json, ["import"], "This step")
                return try importing(member.value)
            }
            if member.name.isString("compare") {
                _ = try members(json, ["compare"], "This step")
                return .compare(try comparison(member.value))
            }
            if member.name.isString("fetch") {
                _ = try members(json, ["fetch"], "This step")
                return .fetch(try url(member.value))
            }
        }
        try checkKind(json)
        return try change(json)
    }

    /// The kinds of steps of an operation.
    ///
    /// Steps that take a prefix are made in a transaction.
    private static let kinds: [StaticString] = [
        "wait", "fetch", "transaction", "import", "compare", "put", "merge", "increment", "delete",
        "get", "touch",
    ]
    private static let prefixKinds: [StaticString] = ["pop", "delete-prefix", "count"]

    private static func list(_ names: [StaticString]) -> String {
        names.map { "\($0)" }.joined(separator: ", ")
    }

    /// Checks that the step of a property names a kind; if not, the error lists the kinds.
    private func checkKind(_ json: JSONView) throws(RequestFailure) {
        guard json.kind == .object else { throw invalid("A step must be an object.") }
        let names = json.members.map(\.name)
        func has(_ name: JSONView, _ kinds: [StaticString]) -> Bool {
            kinds.contains { name.isString($0) }
        }
        guard !names.contains(where: { has($0, Self.kinds + Self.prefixKinds) }) else { return }
        let wrong = names.first { !has($0, ["value", "patch", "by", "ttl", "ttl-if-new"]) }
        throw invalid(
            wrong?.correction(among: Self.kinds, "This step")
                ?? "A step has one of \(Self.list(Self.kinds))."
        )
    }

    /// A step of one property, which may take the previous step's value.
    private func change(_ json: JSONView) throws(RequestFailure) -> OperationStep {
        let needsContent = json.members.contains {
            $0.name.isString("put") || $0.name.isString("merge")
        }
        let hasContent = json.members.contains {
            $0.name.isString("value") || $0.name.isString("patch")
        }
        // `json` stands for the value that is not known yet.
        let step = try checked { () throws(InvalidTransaction) in
            try Change.Step(json, previous: needsContent && !hasContent ? json : nil)
        }
        guard !step.action.takesPrefix else {
            throw invalid(
                "\(Self.list(Self.prefixKinds)): a step that takes a prefix stands in "
                    + "a transaction, {\"transaction\": {\"then\": […]}}."
            )
        }
        return .change(step, takesPrevious: needsContent && !hasContent)
    }

    /// Lines as a text; null takes the lines of the previous step.
    private func importing(_ json: JSONView) throws(RequestFailure) -> OperationStep {
        switch json.kind {
        case .null: return .importing(nil)
        case .string: return .importing(OperationValue(unsafe Array(json.bytes)))
        default:
            throw invalid("import must be a text of lines, or null for the previous step's value.")
        }
    }

    private func comparison(_ json: JSONView) throws(RequestFailure) -> ComparisonRequest {
        guard canCompare else { throw RequestFailure(.compareNotAvailable) }
        let found = try members(json, ["strategies", "threads", "seconds"], "compare")
        var strategies: [String] = []
        if let list = found[0] {
            guard list.kind == .array else { throw invalid("strategies must be an array.") }
            for item in list.elements {
                guard let name = item.string, StrategyKind(rawValue: name) != nil,
                    !strategies.contains(name)
                else { throw invalid("strategies must be names of strategies, none twice.") }
                strategies.append(name)
            }
        }
        let threads = found[1].map { $0.integer ?? 0 } ?? 4
        guard (1...Int64(ComparisonRequest.threadsMax)).contains(threads) else {
            throw invalid("threads must be from 1 to \(ComparisonRequest.threadsMax).")
        }
        let seconds = found[2].map { $0.double ?? 0 } ?? 1
        guard ComparisonRequest.seconds.contains(seconds) else {
            throw invalid("seconds must be from 0.1 to 60.")
        }
        return ComparisonRequest(
            strategies: strategies,
            threads: Int(threads),
            seconds: seconds
        )
    }

    private func url(_ json: JSONView) throws(RequestFailure) -> String {
        guard let url = json.string, !url.utf8.contains(0) else {
            throw invalid("fetch must be a URL.")
        }
        do {
            try Fetch(fetching) { false }.check(url)
        } catch {
            throw error == .notAllowed
                ? RequestFailure(.fetchNotAllowed)
                : invalid("fetch must be a URL of http or https, without a user name.")
        }
        return url
    }
}

// MARK: Errors

extension OperationBody {
    private func members(
        _ json: JSONView,
        _ names: [StaticString],
        _ subject: String
    ) throws(RequestFailure) -> JSONMembers {
        try checked { () throws(InvalidTransaction) in try json.members(of: names, subject) }
    }

    private func checked<Result>(
        _ body: () throws(InvalidTransaction) -> Result
    ) throws(RequestFailure) -> Result {
        do {
            return try body()
        } catch {
            throw invalid(error.message)
        }
    }

    /// Adds to an error the number of its item in the list.
    private func inItem<Result>(
        _ number: Int,
        of list: String,
        _ body: () throws(RequestFailure) -> Result
    ) throws(RequestFailure) -> Result {
        do {
            return try body()
        } catch {
            let detail = error.detail ?? "\(error.problem.title) \(error.problem.advice)"
            throw RequestFailure(error.problem, "Item \(number) of \(list): \(detail)")
        }
    }

    private func invalid(_ message: String) -> RequestFailure {
        RequestFailure(.invalidBody, message)
    }
}
