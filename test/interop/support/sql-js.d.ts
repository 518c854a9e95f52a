/** The members of sql.js that the tests use. It ships no types. */
declare module "sql.js" {
  interface Statement {
    bind(params: readonly unknown[]): boolean;
    reset(): void;
    step(): boolean;
    getAsObject(): Record<string, unknown>;
    free(): void;
  }
  interface Database {
    prepare(sql: string): Statement;
    run(sql: string, params?: readonly unknown[]): Database;
    export(): Uint8Array;
  }
  export default function initSqlJs(): Promise<{ readonly Database: new (bytes?: Uint8Array) => Database }>;
}
