internal import LatchkeyJSON
internal import LatchkeyStore

extension StepExecution {
    /// Puts the properties of lines, one commit for each batch.
    func importLines(
        _ given: OperationValue?,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        guard let value = given ?? previous else {
            return completion(.failure(.noPreviousValue))
        }
        guard let lines = ImportedLines(value, depthMax: environment.depthMax) else {
            return completion(.failure(.notLines))
        }
        putBatches(of: lines) { result in
            switch result {
            case .success: observe(.imported(lines.importedCount, lines.revision))
            case .failure(let failure):
                if lines.importedCount > 0 {
                    observe(.imported(lines.importedCount, lines.revision))
                }
                if case .cancelled = failure { break }
                observe(.failed(failure))
            }
            completion(result)
        }
    }

    /// Puts a batch, and the next one when it is committed, until the lines have ended.
    private func putBatches(
        of lines: ImportedLines,
        _ completion: @escaping @Sendable (StepResult) -> Void
    ) {
        guard !cancellation.isCancelled else { return completion(.failure(.cancelled)) }
        let steps: [Change.Step]
        do {
            steps = try lines.nextBatch()
        } catch {
            return completion(.failure(error))
        }
        guard !steps.isEmpty else { return completion(.success(lines.summary)) }
        let batch = Transaction(steps)
        if let reason = plan.refusal(.transaction(batch), taken) {
            return completion(.failure(.notAllowed(reason)))
        }
        environment.commit(.transaction(batch), plan.owner) { decision in
            switch decision {
            case .success(let commit):
                resume {
                    lines.batchIsCommitted(at: commit.revision)
                    report(lines.share)
                    putBatches(of: lines, completion)
                }
            case .failure(let failure):
                completion(.failure(failure))
            }
        }
    }
}

/// The lines of an import step, batch after batch.
///
/// The line at the end of an export can be missing, because an array of properties is not an
/// export. If it is there, it is checked.
///
/// SAFETY: `@unchecked Sendable` because threads use it one after the other: a batch is taken when
/// the one before it is committed.
private final class ImportedLines: @unchecked Sendable {
    static let batchLinesMax = 128

    private enum Source {
        /// A text from this byte on, whose lines are checked one by one.
        case text(from: Int)
        /// The rest of an array, which is valid JSON.
        case array(JSONView.Elements)
    }

    private let depthMax: Int
    /// The text or the array, and the owner of its memory.
    private let value: OperationValue
    private var source: Source
    private var line = 0
    private var readByteCount = 0
    private(set) var importedCount = 0
    private var steps = ImportSteps(isPartial: false)
    private(set) var revision: Revision = 0

    /// Nil if the value is neither a text nor an array.
    init?(_ value: OperationValue, depthMax: Int) {
        self.depthMax = depthMax
        let view = unsafe JSONView(value.bytes)
        switch view.kind {
        case .string:
            self.value = OperationValue(view.unescaped() ?? [])
            source = .text(from: 0)
        case .array:
            self.value = value
            source = .array(view.elements)
        default:
            return nil
        }
    }

    /// How much of the source is imported.
    var share: Double {
        Double(readByteCount) / Double(max(1, unsafe value.bytes.count))
    }

    /// The value of the step.
    var summary: OperationValue {
        var json = JSONWriter()
        json.object { object in
            object.member("imported", importedCount)
            object.member("revision", revision)
        }
        return OperationValue(json.bytes)
    }

    func batchIsCommitted(at revision: Revision) {
        importedCount = steps.count
        self.revision = revision
    }

    /// The next steps; none at the end.
    func nextBatch() throws(OperationFailure) -> [Change.Step] {
        do throws(InvalidImportLine) {
            while steps.steps.count < Self.batchLinesMax, let entry = try nextEntry() {
                try steps.add(entry)
            }
        } catch {
            throw .line(line, imported: importedCount, error.detail)
        }
        return steps.next()
    }

    /// The next line that is not empty.
    private func nextEntry() throws(InvalidImportLine) -> ImportEntry? {
        switch source {
        case .array(var elements):
            guard let element = elements.next() else { return nil }
            source = .array(elements)
            line += 1
            readByteCount += unsafe element.bytes.count + 1
            return try ImportEntry(element)
        case .text(var start):
            let text = unsafe value.bytes
            while start < text.count {
                let rest = unsafe text[start...]
                let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: rest[..<end])
                start = end + 1
                source = .text(from: start)
                line += 1
                readByteCount = start
                let isBlank = unsafe bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
                if !isBlank { return try unsafe ImportEntry(bytes, depthMax: depthMax) }
            }
            return nil
        }
    }
}
