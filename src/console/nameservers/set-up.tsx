import { useState } from 'preact/hooks';
import { useLive } from '../live.ts';
import { NotLive } from '../parts/notices.tsx';
import { PageHead, reading, Section, useTitle } from '../parts/page.tsx';
import { Copy, count, Name, visible } from '../parts/text.tsx';
import type { NameServer, Setup } from '../resources.ts';
import { pageOf } from '../router.ts';
import { LiveLine } from './live-line.tsx';
import { SetUpSteps } from './steps.tsx';

/** What to run and to paste so that a name server is live, and how far it is. */
export function SetUp({ id }: { id: string }) {
  const server = useLive<NameServer>(`v2/nameservers/${id}`, () => true);
  const [isAll, setAll] = useState(false);
  const setup = useLive<Setup>(`v2/nameservers/${id}/setup${isAll ? '?zones=all' : ''}`);
  const name = server.data?.name;
  useTitle(name === undefined ? 'Set up a name server' : `Set up ${visible(name)}`);
  const crumb = { label: 'Name servers', href: pageOf('nameservers') };
  if (server.data === undefined)
    return reading({ title: 'Set up a name server', crumb, live: server, what: 'the name server' });
  const isLive = server.data.state === 'live';
  return (
    <>
      <PageHead
        title={
          <>
            Set up <Name text={server.data.name} isWhole />
          </>
        }
        crumb={crumb}
      >
        <a class={`button ${isLive ? 'primary' : ''}`} href={pageOf('nameservers', id)}>
          {isLive ? 'Done' : 'Show the name server'}
        </a>
      </PageHead>
      <div class="stack">
        <SetUpSteps at={isLive ? 3 : 1} />
        <NotLive error={server.error} asOf={server.asOf} reload={server.reload} />
        <LiveLine server={server.data} />
        <Section title="On its host" live={setup}>
          {({ steps, later, more_zones: more }) => (
            <>
              <p class="muted">
                The commands are for Debian and its packages. Other systems have other users and
                folders.
              </p>
              <ol class="stack">
                {steps.map(({ title, text }, index) => (
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
                  <span>
                    ! {count(more, 'zone')} of the pool have no entries in these texts yet.
                  </span>
                  <button type="button" class="button" onClick={() => setAll(true)}>
                    Show the entries of all zones
                  </button>
                </p>
              )}
              <details>
                <summary class="label">To add a zone later</summary>
                <div class="code">
                  <pre tabIndex={0} aria-label="How to add a zone later">
                    {later}
                  </pre>
                </div>
              </details>
            </>
          )}
        </Section>
      </div>
    </>
  );
}
