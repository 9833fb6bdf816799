// A loop of an assistant in TypeScript: brim keeps its contexts within the window and hands over between them.
//
//     npx esbuild examples/session/loop.ts --outfile=loop.mjs && node loop.mjs      (Node 22.18 and newer: node loop.ts)
//
// `brim loop` is a process that speaks JSON lines. Each line it writes is a tick with the messages to send; each line it
// reads is the step that was made. It stores every step, so a program that is killed continues when it is started again.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

interface Message {
  role: "user" | "assistant" | "tool";
  content: string;
  tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

interface Tick {
  event: "tick";
  messages: Message[];
  iteration: number;
  sub_tick: number;
  state: { step?: number };
  results: unknown[];
  used: number;
  budget: number;
  continuation: string | null;
}

interface Outcome {
  event: "outcome";
  ended: string;
  steps: number;
  sub_ticks: number;
  results: unknown[];
}

interface Step {
  messages: Message[];
  end: "continue" | "iteration" | "goal";
  result?: unknown;
  state?: { step: number };
}

const steps = Number(process.env.STEPS ?? 200);
const dieAt = Number(process.env.DIE_AT ?? -1);
const brim = (process.env.BRIM ?? "brim").split(" ");
const store = process.env.STORE ?? "sqlite:///loop.db";

// In a real program this calls the model with tick.messages, and runs the tools that it asks for.
function act(tick: Tick): Step {
  const step = tick.state.step ?? 0;
  const id = `call${step}`;
  const call = { id, type: "function" as const, function: { name: "read", arguments: JSON.stringify({ part: step }) } };
  return {
    messages: [
      { role: "assistant", content: `Part ${step} of the shop waits for lock ${step % 7}.`, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content: `part ${step}: ` + "a line of the file. ".repeat(12) },
    ],
    end: step + 1 === steps ? "goal" : "continue",
    result: { part: step },
    state: { step: step + 1 },
  };
}

const options = ["--id", "explore", "--goal", "Explore the shop.", "--window", "28000", "--model", "gpt-5"];
const child = spawn(brim[0], [...brim.slice(1), "loop", ...options, "--max-sub-ticks", "500", "--store", store], {
  stdio: ["pipe", "pipe", "inherit"],
});

for await (const line of createInterface({ input: child.stdout })) {
  const said = JSON.parse(line) as Tick | Outcome;
  if (said.event === "tick") {
    if (said.used > said.budget) throw new Error("a prompt is over its budget");
    if ((said.state.step ?? 0) === dieAt) process.kill(process.pid, "SIGKILL");
    child.stdin.write(JSON.stringify(act(said)) + "\n");
  } else if (said.event === "outcome") {
    console.log(JSON.stringify(said));
  }
}
