// The pages, in the sidebar's order. A page is one folder with one component
// of its name; it is loaded when it is first shown.
import type { Component } from 'svelte';
import type { IconName } from '../ui/icons';

export interface Page {
  id: string; // in the address: #/id
  title: string;
  key: string; // g and this key leads there
  icon: IconName;
  load: () => Promise<{ default: Component }>;
}

export const pages: readonly Page[] = [
  { id: 'fleet', title: 'Fleet', key: 'f', icon: 'fleet', load: () => import('./Fleet/Fleet.svelte') },
  { id: 'decisions', title: 'Decisions', key: 'd', icon: 'decisions', load: () => import('./Decisions/Decisions.svelte') },
  { id: 'models', title: 'Models', key: 'm', icon: 'models', load: () => import('./Models/Models.svelte') },
  { id: 'memory', title: 'Memory', key: 'y', icon: 'memory', load: () => import('./Memory/Memory.svelte') },
  { id: 'capacity', title: 'Capacity', key: 'c', icon: 'capacity', load: () => import('./Capacity/Capacity.svelte') },
  { id: 'apps', title: 'Apps', key: 'a', icon: 'apps', load: () => import('./Apps/Apps.svelte') },
  { id: 'health', title: 'Health', key: 'h', icon: 'health', load: () => import('./Health/Health.svelte') },
  { id: 'settings', title: 'Settings', key: 's', icon: 'settings', load: () => import('./Settings/Settings.svelte') },
];
