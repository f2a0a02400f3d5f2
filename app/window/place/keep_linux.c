//go:build linux && desktop && production

#include <gtk/gtk.h>

#include "_cgo_export.h"

// put runs on GTK's thread, after the toolkit has centred the window on the
// whole monitor.
static gboolean put(gpointer unused)
{
	GList *windows = gtk_window_list_toplevels();
	for (GList *w = windows; w != NULL; w = w->next) {
		GdkWindow *shown = gtk_widget_get_window(GTK_WIDGET(w->data));
		if (shown == NULL || !gtk_widget_get_visible(GTK_WIDGET(w->data)) || gtk_window_get_window_type(w->data) != GTK_WINDOW_TOPLEVEL)
			continue;
		GdkDisplay *display = gdk_window_get_display(shown);
		GdkRectangle work;
		gdk_monitor_get_workarea(gdk_display_get_monitor_at_window(display, shown), &work);
		int x = work.x, y = work.y, width = work.width, height = work.height;
		fit(&x, &y, &width, &height, g_str_equal(G_OBJECT_TYPE_NAME(display), "GdkWaylandDisplay"));
		gtk_window_resize(w->data, width, height);
		gtk_window_move(w->data, x, y);
	}
	g_list_free(windows);
	return G_SOURCE_REMOVE;
}

void put_in_place(void)
{
	// Behind the toolkit's own orders, which wait at the usual priority.
	g_idle_add_full(G_PRIORITY_DEFAULT_IDLE + 10, put, NULL, NULL);
}
