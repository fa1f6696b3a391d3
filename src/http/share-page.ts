import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  openLink,
  previewLink,
  SHARE_PATH,
  type LinkPreview,
} from '../domain/actions/key-share.ts';
import { markup, type Markup, type Part } from './docs/markup.ts';
import { errorResponse, toServiceError, type ErrorResponseSettings } from './request/errors.ts';
import { originOf } from './request/guard.ts';
import { addRoutes, pathId, type Handler } from './request/routes.ts';

const STYLE = `
:root { color-scheme: light dark; --canvas: #f7f8fa; --panel: #fff; --line: #e0e3e7; --text: #1a1e25; --muted: #555b65; --accent: #2b5fc6; --paper: #fff; }
@media (prefers-color-scheme: dark) { :root { --canvas: #0e1114; --panel: #15181c; --line: #2a2e34; --text: #e9ebee; --muted: #a2a8b1; --accent: #84aefa; --paper: #15181c; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; padding: 1.5rem 1rem; background: var(--canvas); color: var(--text); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 40rem; margin: 0 auto; padding: 1.5rem; background: var(--panel); border: 1px solid var(--line); border-radius: 10px; }
h1 { margin: 0 0 .75rem; font-size: 1.25rem; line-height: 1.4; letter-spacing: -.01em; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; }
p:last-child { margin: 0; color: var(--muted); font-size: .875rem; }
bdi, pre { font-family: ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", "DejaVu Sans Mono", monospace; font-variant-ligatures: none; }
bdi { font-size: .95em; }
pre { margin: 0 0 1rem; padding: .875rem; background: var(--canvas); border: 1px solid var(--line); border-radius: 6px; font-size: .875rem; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; -webkit-user-select: all; }
button { min-height: 44px; padding: 0 1.25rem; border: 0; border-radius: 6px; background: var(--text); color: var(--paper); font: inherit; font-weight: 600; cursor: pointer; }
form { margin: 0 0 1rem; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (max-width: 30rem) { button { width: 100%; } main { padding: 1.25rem; } }
`;

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};

/**
 * Serves links to keys. `GET` says what a link is for, and only `POST`, which the button of the page
 * sends, uses it. Clients that do not accept HTML get the text or the error alone.
 */
export function addSharePages(app: FastifyInstance, settings: ErrorResponseSettings): void {
  const respond =
    (work: (request: FastifyRequest, reply: FastifyReply) => Promise<string>): Handler =>
    async (request, reply) => {
      reply.headers(HEADERS);
      try {
        return await work(request, reply);
      } catch (error) {
        if (!acceptsPages(request)) throw error;
        const known = toServiceError(error);
        if (known.code !== 'not_found' && known.code !== 'link_gone') throw error;
        const { status } = errorResponse(known, request.id, settings);
        const reason = known.code === 'not_found' ? 'This link does not exist.' : known.message;
        reply.code(status);
        return sendPage(reply, 'This link does not work', [
          markup`<p>${reason.replace('. Ask for a new link', '.')}</p>`,
          markup`<p>Ask the person who sent it for a new one. If you did not open it yourself, tell them: someone else may have the key.</p>`,
        ]);
      }
    };
  addRoutes(app, `${SHARE_PATH}:id`, [
    {
      method: 'GET',
      handler: respond(async (request, reply) => {
        const preview = await previewLink(request.settings.dependencies, pathId(request) ?? '');
        return sendPage(reply, 'A TSIG key for you', invitation(preview));
      }),
    },
    {
      method: 'POST',
      handler: respond(async (request, reply) => {
        const { dependencies } = request.settings;
        const { text } = await openLink(dependencies, originOf(request), pathId(request) ?? '');
        if (acceptsPages(request))
          return sendPage(reply, 'Your TSIG key', [
            markup`<p>Copy this text now. It is shown only once.</p>`,
            markup`<pre tabindex="0" aria-label="The key">${text}</pre>`,
            markup`<p>Keep it secret: whoever has it can sign requests with this key. Store it in a file that only the name server can read.</p>`,
          ]);
        return send(reply, 'text/plain; charset=UTF-8', text);
      }),
    },
  ]);
}

function acceptsPages({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html');
}

const READERS = {
  primary: (consumer: string) => `in the form that ${consumer} reads`,
  secondary: (consumer: string) => `as what a secondary server on ${consumer} needs`,
};

function invitation({ name, consumer, side, expiresAt }: LinkPreview): Part {
  const [date, time = ''] = expiresAt.split('T');
  return [
    markup`<p>This link shows the key <bdi>${name}</bdi> once, ${READERS[side](consumer)}. Open it where you can store the text safely.</p>`,
    markup`<form method="post"><button>Show the key</button></form>`,
    markup`<p>The link expires on ${date} at ${time.slice(0, 5)} UTC.</p>`,
  ];
}

function sendPage(reply: FastifyReply, title: string, content: Part): string {
  return send(reply, 'text/html; charset=UTF-8', page(title, content).html);
}

function send(reply: FastifyReply, type: string, text: string): string {
  reply.header('content-type', type);
  return text;
}

function page(title: string, content: Part): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}
