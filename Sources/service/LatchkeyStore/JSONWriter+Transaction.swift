// The outcome of a transaction as JSON.

internal import LatchkeyJSON

extension JSONWriter {
    /// Writes a member with the value of a property.
    package mutating func member(_ name: String, valueOf property: Property) {
        unsafe member(name, rawJSON: property.valueBytes, of: property.owner)
    }

    /// Writes the outcome of a transaction.
    ///
    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - commit: The commit, which has an outcome.
    package mutating func transaction(_ transaction: Transaction, _ commit: Commit) {
        guard let outcome = commit.outcome else {
            preconditionFailure("The commit of a transaction has an outcome.")
        }
        let steps = outcome.succeeded ? transaction.steps : transaction.otherwise
        reserve(64 + 128 * steps.count)
        opening { piece in
            piece.raw(outcome.succeeded ? "{\"succeeded\":true" : "{\"succeeded\":false")
            piece.raw(",\"revision\":")
            piece.integer(commit.revision)
            piece.raw(",\"results\":[")
        }
        for index in steps.indices {
            let (step, result) = (steps[index], outcome.results[index])
            guard !step.action.takesPrefix else {
                self.result(ofPrefix: step, result, at: commit.time)
                continue
            }
            unsafe self.result(
                of: step.name.bytes,
                result,
                showsValue: step.action.showsValue,
                at: commit.time
            )
        }
        end("]}")
    }

    /// Writes the outcome of a transaction whose only step is a pop that took a property.
    package mutating func pop(
        _ step: Change.Step,
        _ result: Transaction.Result,
        _ commit: Commit
    ) {
        opening { piece in
            piece.raw("{\"revision\":")
            piece.integer(commit.revision)
            piece.raw(",\"result\":")
        }
        self.result(ofPrefix: step, result, at: commit.time)
        end("}")
    }

    /// Writes the result of a step that takes a prefix: the property that it took, or a number.
    package mutating func result(
        ofPrefix step: Change.Step,
        _ result: Transaction.Result,
        at time: Timestamp
    ) {
        guard case .pop = step.action else {
            object { json in
                unsafe json.member("prefix", utf8: step.name.bytes)
                json.member("count", result.count)
            }
            return
        }
        guard let property = result.property else {
            object { $0.member("revision", 0) }
            return
        }
        unsafe self.result(of: property.nameBytes, result, showsValue: true, at: time)
    }

    /// Writes the result of a step, the brackets in one piece with the members.
    private mutating func result(
        of name: UnsafeRawBufferPointer,
        _ result: Transaction.Result,
        showsValue: Bool,
        at time: Timestamp
    ) {
        let isShort = unsafe Self.fitsIntoPiece(name)
        let isDone = result.property == nil || (result.expiry == .never && !showsValue)
        if !isShort {
            opening { $0.raw("{") }
            unsafe member("name", utf8: name)
        }
        members { piece in
            if isShort {
                piece.raw("{\"name\":")
                unsafe piece.string(name)
                piece.raw(",")
            }
            piece.raw("\"revision\":")
            piece.integer(result.revision)
            if result.property != nil && result.created > 0 {
                piece.raw(",\"created\":")
                piece.integer(result.created)
            }
            if isDone {
                piece.raw("}")
            }
        }
        guard !isDone, let property = result.property else {
            return
        }
        ttl(until: result.expiry, at: time)
        if showsValue {
            member("value", valueOf: property)
        }
        end("}")
    }
}
