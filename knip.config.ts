import type { KnipConfig } from "knip";
import { entries } from "./scripts/entries.mjs";

const config: KnipConfig = {
  workspaces: {
    ".": {
      // What users import, and the programs that are run by name; tests are found by their own tool.
      entry: [
        ...entries.map(({ source }) => source),
        "examples/*.ts",
        "examples/apps/*/{main,demo}.ts",
        "examples/apps/ai-sdk-chat/page/page.tsx",
        "examples/apps/service/database.ts",
        "scripts/{check,examples,viewer}.mjs",
        "src/viewer/app/{main,list}.tsx",
        "src/viewer/app/{style,list,rows}.css",
        "test/faults/fuzz.ts",
        "test/consumer/use.ts",
      ],
      project: ["src/**/*.{ts,tsx}", "test/**/*.ts", "examples/**/*.{ts,tsx}", "scripts/**/*.mjs"],
      // Run by scripts/check.mjs, and named in test/support/fonts.conf.
      ignoreDependencies: ["@arethetypeswrong/cli", "publint", "dejavu-fonts-ttf"],
      // Of the system; tests that need one skip where it is not there.
      ignoreBinaries: [
        ...["mkfifo", "mount", "umount", "truncate", "modprobe", "filefrag"],
        ...["strace", "prlimit", "chattr", "unshare", "ip", "mariadb"],
        // The package itself, installed by a test.
        "sessile",
      ],
    },
    "test/runtimes": {
      entry: ["*.mjs"],
      project: ["*.mjs"],
      // Programs, run by their paths.
      ignoreDependencies: [/^@deno\//, /^@oven\//, /^node\d+-/],
    },
    "test/agent-sdk": { entry: ["*.ts"], project: ["*.ts"] },
    "test/adapters": {
      entry: ["frameworks/*.{ts,mjs}"],
      project: ["frameworks/*.{ts,mjs}"],
      // An optional dependency of @openai/agents-core, which it loads.
      ignoreDependencies: [
        "@modelcontextprotocol/client",
        // Started by its path.
        "azurite",
        // Its messages are loaded by their path.
        "@opentelemetry/otlp-transformer",
      ],
    },
    bench: {
      entry: ["*.ts", "peers/**/*.test.ts", "peers/*.mjs", "tasks/*.mjs"],
      project: ["**/*.{ts,mjs}"],
      // The first until a benchmark imports it; the others are loaded by their paths.
      ignoreDependencies: ["tinybench", "pi-1.6", "ccusage", "@ccusage/codex"],
    },
  },
  ignoreExportsUsedInFile: { interface: true, type: true },
};

export default config;
