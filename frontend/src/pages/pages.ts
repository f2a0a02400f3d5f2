// The pages, in the sidebar's order. A page is one folder with one component
// of its name. The first one is there from the start, so that it shows at once;
// the others are one file, which is fetched right after: files of their own
// took a tenth more to send.
import type { Component } from 'svelte';
import type { IconName } from '../ui/icons';
import Fleet from './Fleet/Fleet.svelte';

type Rest = typeof import('./rest');
const rest = (name: keyof Rest) => () => import('./rest').then((r) => ({ default: r[name] as Component }));

export interface Page {
  id: string; // in the address: #/id
  title: string;
  key: string; // g and this key leads there
  icon: IconName;
  load: () => Promise<{ default: Component }>;
}

export const pages: readonly Page[] = [
  { id: 'fleet', title: 'Fleet', key: 'f', icon: 'fleet', load: () => Promise.resolve({ default: Fleet }) },
  { id: 'decisions', title: 'Decisions', key: 'd', icon: 'decisions', load: rest('Decisions') },
  { id: 'models', title: 'Models', key: 'm', icon: 'models', load: rest('Models') },
  { id: 'memory', title: 'Memory', key: 'y', icon: 'memory', load: rest('Memory') },
  { id: 'capacity', title: 'Capacity', key: 'c', icon: 'capacity', load: rest('Capacity') },
  { id: 'apps', title: 'Apps', key: 'a', icon: 'apps', load: rest('Apps') },
  { id: 'health', title: 'Health', key: 'h', icon: 'health', load: rest('Health') },
  { id: 'settings', title: 'Settings', key: 's', icon: 'settings', load: rest('Settings') },
];
