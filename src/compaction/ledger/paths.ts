export declare function ledgerPath(path: string, cwd?: string): string | undefined;
