/** `archive --install`: the entry of this system's scheduler that runs the archive once a day. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { agents } from "../../agents/internal.js";
import type { CommandContext, ExitCode } from "../command.js";
import { replaceFile } from "../files.js";

/** The files of a scheduler, and the command that starts it. */
interface Timer {
  readonly files: readonly { readonly path: string; readonly text: string }[];
  readonly start: string;
}

/**
 * Prints the files of the scheduler, writes them, and prints the command that starts it.
 *
 * @param options of the command that is run
 */
export async function installTimer(options: readonly string[], context: CommandContext): Promise<ExitCode> {
  const { out, signal, env } = context;
  const words = [process.execPath, process.argv[1] ?? "sessile", "archive", ...options];
  const timer = systemTimer(process.platform, env.HOME ?? homedir(), words);
  if (out.json) await out.value(timer);
  else {
    for (const { path, text } of timer.files)
      await out.line(out.style("dim", out.clean(path)), ...out.cleanLines(text));
  }
  for (const { path, text } of timer.files) await replaceFile(path, text, signal);
  if (!out.json) await out.line(`start it with: ${out.clean(timer.start)}`);
  return 0;
}

/** The variables that move the homes of agents, which a scheduler does not have. */
function homeVariables(): readonly (readonly [name: string, value: string])[] {
  const names = new Set(agents.flatMap((agent) => ("home" in agent ? agent.home.variables : [])));
  return [...names].flatMap((name): readonly (readonly [string, string])[] => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, resolve(value)]];
  });
}

/** The daily run of a command by systemd, launchd or the scheduled tasks of Windows. */
function systemTimer(platform: string, home: string, words: readonly string[]): Timer {
  if (platform === "darwin") {
    const path = join(home, "Library", "LaunchAgents", "sessile-archive.plist");
    const strings = words.map((word) => `    <string>${escapeXml(word)}</string>`).join("\n");
    return { files: [{ path, text: launchAgent(strings) }], start: `launchctl load "${path}"` };
  }
  if (platform === "win32") {
    const command = words.map((word) => `\\"${word}\\"`).join(" ");
    return { files: [], start: `schtasks /Create /SC DAILY /TN sessile-archive /TR "${command}"` };
  }
  const folder = join(home, ".config", "systemd", "user");
  return {
    files: [
      { path: join(folder, "sessile-archive.service"), text: service(words) },
      { path: join(folder, "sessile-archive.timer"), text: timerUnit },
    ],
    start: "systemctl --user enable --now sessile-archive.timer",
  };
}

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const launchAgent = (strings: string) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>sessile-archive</string>
  <key>ProgramArguments</key>
  <array>
${strings}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${homeVariables()
  .map(([name, value]) => `    <key>${name}</key>\n    <string>${escapeXml(value)}</string>\n`)
  .join("")}  </dict>
  <key>StartInterval</key>
  <integer>86400</integer>
  <key>RunAtLoad</key>
  <true/>
</dict>
</plist>
`;

/** A percent sign is a specifier of systemd, and a line ends at its end. */
const quoted = (word: string) =>
  `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("\n", "\\n")}"`;
/** A dollar sign in a command is a variable. */
const quotedWord = (word: string) => quoted(word).replaceAll("$", "$$$$");

const service = (words: readonly string[]) => `[Unit]
Description=Copy the sessions of all agents

[Service]
Type=oneshot
Nice=10
${homeVariables()
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  .join("")}ExecStart=${words.map(quotedWord).join(" ")}
`;

const timerUnit = `[Unit]
Description=Copy the sessions of all agents once a day

[Timer]
OnCalendar=daily
Persistent=true

[Install]
WantedBy=timers.target
`;
