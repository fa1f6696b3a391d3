import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { Acts } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, Reading, Section } from '../parts/page.tsx';
import { Copy, count, visible } from '../parts/text.tsx';
import type { NameServer, Setup } from '../resources.ts';
import { pageOf } from '../router.ts';
import { editingServer } from './acts.tsx';
import { LiveLine } from './live-line.tsx';

/** What to run and to paste so that a name server is live, and how far it is. */
export function SetUp({ id }: { id: string }) {
  const server = useLive<NameServer>(`v2/nameservers/${id}`, () => true);
  const [isAll, setAll] = useState(false);
  const setup = useLive<Setup>(`v2/nameservers/${id}/setup${isAll ? '?zones=all' : ''}`);
  return (
    <>
      <PageHead title={`Set up ${server.data?.name ?? 'a name server'}`} of="nameservers">
        {server.data === undefined ? null : <Acts acts={[editingServer(server.data)]} />}
        <a class="button" href={pageOf('nameservers', id)}>
          Show the name server
        </a>
      </PageHead>
      {server.data === undefined ? (
        <Reading live={server} what="the name server" />
      ) : (
        <div class="stack">
          <NotLive {...server} />
          <LiveLine server={server.data} />
          <Section title="On its host" live={setup}>
            {(data) => <HostSteps setup={data} showAll={() => setAll(true)} />}
          </Section>
        </div>
      )}
    </>
  );
}

function HostSteps({ setup, showAll }: { setup: Setup; showAll(): void }) {
  const { steps, later, more_zones: more } = setup;
  const texts = [...steps, { title: 'To add a zone later', text: later }];
  return (
    <>
      <p class="muted">
        The commands are for Debian and its packages. Other systems have other users and folders.
      </p>
      <ol class="stack">
        {texts.map(({ title, text }, index) => (
          <li class="stack-s" key={title}>
            <div class="row spread">
              <h3 class="label">
                {index + 1}. <bdi>{visible(title)}</bdi>
              </h3>
              <Copy text={() => text} what={`the text of step ${index + 1}`} />
            </div>
            <div class="code">
              <pre tabIndex={0} aria-label={`Text of step ${index + 1}`}>
                {text}
              </pre>
            </div>
          </li>
        ))}
      </ol>
      {more === 0 ? null : (
        <p class="row">
          <span>! {count(more, 'zone')} of the pool have no entries in these texts yet.</span>
          <Button onClick={showAll}>Show the entries of all zones</Button>
        </p>
      )}
    </>
  );
}
