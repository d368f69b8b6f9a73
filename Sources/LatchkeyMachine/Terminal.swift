internal import CLatchkeyMachine

package enum Terminal {
    /// How many columns the terminal behind the descriptor has; 0 if it is none or does not know.
    package static func columns(_ descriptor: Int32) -> Int {
        Int(latchkey_machine_terminal_columns(descriptor))
    }
}
