// The inputs of the programs. With the package `@types/node` this declaration is not needed.

declare const process: { env: Record<string, string | undefined>; argv: string[] };

export const url = process.env["LATCHKEY_URL"] ?? "http://127.0.0.1:8080";
export const words = process.argv.slice(2);

export function sleep(seconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, seconds * 1000));
}
